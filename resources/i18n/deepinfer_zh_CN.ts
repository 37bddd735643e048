<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>AddressRow</name>
    <message>
        <source>Copy: {name}</source>
        <translation>复制：{name}</translation>
    </message>
</context>
<context>
    <name>AttachmentChip</name>
    <message>
        <source>Show {name}</source>
        <translation>显示 {name}</translation>
    </message>
    <message>
        <source>Remove {name}</source>
        <translation>移除 {name}</translation>
    </message>
</context>
<context>
    <name>Banner</name>
    <message>
        <source>Details</source>
        <translation>详情</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>ChainCard</name>
    <message>
        <source>Field</source>
        <translation>字段</translation>
    </message>
    <message>
        <source>Value</source>
        <translation>值</translation>
    </message>
    <message>
        <source>Fields of the ModelSpec</source>
        <translation>ModelSpec 的字段</translation>
    </message>
    <message>
        <source>ModelSpec</source>
        <translation>ModelSpec</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>无</translation>
    </message>
</context>
<context>
    <name>ChatBanners</name>
    <message>
        <source>Show report</source>
        <translation>显示报告</translation>
    </message>
    <message>
        <source>The engine has not answered for {n} seconds.</source>
        <translation>引擎已有 {n} 秒没有响应。</translation>
    </message>
    <message>
        <source>{name} has no chat template: it continues text rather than answering.</source>
        <translation>{name} 没有聊天模板：它只会续写文本，而不是回答问题。</translation>
    </message>
    <message>
        <source>The conversation was deleted.</source>
        <translation>对话已删除。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>The message was deleted.</source>
        <translation>消息已删除。</translation>
    </message>
    <message>
        <source>Saved as {path}.</source>
        <translation>已保存为 {path}。</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>重新启动</translation>
    </message>
</context>
<context>
    <name>ChatPage</name>
    <message>
        <source>Conversations of a newer version can only be read here</source>
        <translation>较新版本的对话在此只能阅读</translation>
    </message>
    <message>
        <source>The model is loading; write already</source>
        <translation>模型正在加载，可以先写消息</translation>
    </message>
    <message>
        <source>Message {name}</source>
        <translation>给 {name} 发消息</translation>
    </message>
    <message>
        <source>Write the next message meanwhile</source>
        <translation>可以先写下一条消息</translation>
    </message>
    <message>
        <source>The engine has stopped; restart it above</source>
        <translation>引擎已停止，请在上方重新启动</translation>
    </message>
    <message>
        <source>Choose a model first (Ctrl+L)</source>
        <translation>请先选择模型（Ctrl+L）</translation>
    </message>
</context>
<context>
    <name>ChatTopBar</name>
    <message>
        <source>Show conversations (Ctrl+B)</source>
        <translation>显示对话列表（Ctrl+B）</translation>
    </message>
    <message>
        <source>Show settings and plots (Ctrl+Shift+B)</source>
        <translation>显示设置和图表（Ctrl+Shift+B）</translation>
    </message>
    <message>
        <source>REMOTE</source>
        <translation>远程</translation>
    </message>
    <message>
        <source>{n} tokens of context</source>
        <translation>上下文 {n} 个 token</translation>
    </message>
</context>
<context>
    <name>CheckRow</name>
    <message>
        <source>Figures</source>
        <translation>数据</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>等待中</translation>
    </message>
    <message>
        <source>running…</source>
        <translation>运行中…</translation>
    </message>
    <message>
        <source>not run</source>
        <translation>未运行</translation>
    </message>
    <message>
        <source>pass</source>
        <translation>通过</translation>
    </message>
    <message>
        <source>fail</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>Figures of {check}</source>
        <translation>{check} 的数据</translation>
    </message>
</context>
<context>
    <name>ChecksCard</name>
    <message>
        <source>Checks that have ended</source>
        <translation>已结束的检查</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Looking at it…</source>
        <translation>正在查看…</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>正在停止…</translation>
    </message>
    <message>
        <source>{done} of {all} checks</source>
        <translation>{done} / {all} 项检查</translation>
    </message>
    <message>
        <source>{n} passed</source>
        <translation>{n} 项通过</translation>
    </message>
    <message>
        <source>{n} failed</source>
        <translation>{n} 项失败</translation>
    </message>
    <message>
        <source>{n} not run</source>
        <translation>{n} 项未运行</translation>
    </message>
    <message>
        <source>Checks</source>
        <translation>检查</translation>
    </message>
</context>
<context>
    <name>CloseDialog</name>
    <message>
        <source>A conversion is running</source>
        <translation>转换正在进行</translation>
    </message>
    <message>
        <source>{name} is being converted</source>
        <translation>正在转换 {name}</translation>
    </message>
    <message>
        <source>If you close the window now, the conversion stops. What is done stays on the disk: drop the same file again to go on from there.</source>
        <translation>现在关闭窗口会停止转换。已完成的部分会留在磁盘上：再次拖入同一文件即可继续。</translation>
    </message>
    <message>
        <source>Keep converting</source>
        <translation>继续转换</translation>
    </message>
    <message>
        <source>Stop converting and close</source>
        <translation>停止转换并关闭</translation>
    </message>
</context>
<context>
    <name>CodeSegment</name>
    <message>
        <source>Code</source>
        <translation>代码</translation>
    </message>
    <message>
        <source>Copy code</source>
        <translation>复制代码</translation>
    </message>
    <message>
        <source>text</source>
        <translation>文本</translation>
    </message>
    <message>
        <source>Code, {language}</source>
        <translation>代码，{language}</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Send (Enter)</source>
        <translation>发送（Enter）</translation>
    </message>
    <message>
        <source>Stop (Esc)</source>
        <translation>停止（Esc）</translation>
    </message>
    <message>
        <source>Enter sends, Shift+Enter starts a new line</source>
        <translation>Enter 发送，Shift+Enter 换行</translation>
    </message>
    <message>
        <source>Attach text or PDF files</source>
        <translation>附加文本或 PDF 文件</translation>
    </message>
    <message>
        <source>{n} of {total} tokens</source>
        <translation>{n} / {total} 个 token</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>消息</translation>
    </message>
</context>
<context>
    <name>ContextMark</name>
    <message>
        <source>The model reads from here on; what stands above does not fit.</source>
        <translation>模型从这里开始读取；以上内容已放不下。</translation>
    </message>
</context>
<context>
    <name>ConversationExchange</name>
    <message>
        <source>Markdown (*.md)</source>
        <translation>Markdown (*.md)</translation>
    </message>
    <message>
        <source>Conversations (*.json)</source>
        <translation>对话 (*.json)</translation>
    </message>
    <message>
        <source>conversations</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>conversation</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Export conversations</source>
        <translation>导出对话</translation>
    </message>
    <message>
        <source>Import conversations</source>
        <translation>导入对话</translation>
    </message>
</context>
<context>
    <name>ConversationMenu</name>
    <message>
        <source>Unpin</source>
        <translation>取消置顶</translation>
    </message>
    <message>
        <source>Pin to the top</source>
        <translation>置顶</translation>
    </message>
    <message>
        <source>Rename…</source>
        <translation>重命名…</translation>
    </message>
    <message>
        <source>Duplicate</source>
        <translation>复制对话</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Rename conversation</source>
        <translation>重命名对话</translation>
    </message>
    <message>
        <source>Title</source>
        <translation>标题</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>Take out of the folder</source>
        <translation>移出文件夹</translation>
    </message>
    <message>
        <source>New folder…</source>
        <translation>新建文件夹…</translation>
    </message>
    <message>
        <source>Export</source>
        <translation>导出</translation>
    </message>
    <message>
        <source>As Markdown…</source>
        <translation>导出为 Markdown…</translation>
    </message>
    <message>
        <source>As JSON, with all versions…</source>
        <translation>导出为 JSON（含所有版本）…</translation>
    </message>
    <message>
        <source>New folder</source>
        <translation>新建文件夹</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Copy of {title}</source>
        <translation>副本：{title}</translation>
    </message>
</context>
<context>
    <name>ConversationPanel</name>
    <message>
        <source>New chat (Ctrl+N)</source>
        <translation>新对话（Ctrl+N）</translation>
    </message>
    <message>
        <source>Import, export, shortcuts</source>
        <translation>导入、导出与快捷键</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>No conversation matches.</source>
        <translation>没有匹配的对话。</translation>
    </message>
    <message>
        <source>Your conversations will be listed here.</source>
        <translation>你的对话会列在这里。</translation>
    </message>
    <message>
        <source>All conversations</source>
        <translation>所有对话</translation>
    </message>
    <message>
        <source>In no folder</source>
        <translation>不在文件夹中</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Import conversations…</source>
        <translation>导入对话…</translation>
    </message>
    <message>
        <source>Export all as JSON…</source>
        <translation>全部导出为 JSON…</translation>
    </message>
    <message>
        <source>Keyboard shortcuts (F1)</source>
        <translation>键盘快捷键 (F1)</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Search (Ctrl+F)</source>
        <translation>搜索（Ctrl+F）</translation>
    </message>
    <message>
        <source>Search conversations</source>
        <translation>搜索对话</translation>
    </message>
    <message>
        <source>Clear the search</source>
        <translation>清除搜索</translation>
    </message>
</context>
<context>
    <name>ConvertPage</name>
    <message>
        <source>Forget them</source>
        <translation>不再记住</translation>
    </message>
    <message>
        <source>Convert another…</source>
        <translation>转换另一个…</translation>
    </message>
    <message>
        <source>{name} quality report.md</source>
        <translation>{name} 质量报告.md</translation>
    </message>
    <message>
        <source>Waiting: {names}</source>
        <translation>等待中：{names}</translation>
    </message>
    <message>
        <source>Convert</source>
        <translation>转换</translation>
    </message>
</context>
<context>
    <name>CrashReportDialog</name>
    <message>
        <source>Crash report</source>
        <translation>崩溃报告</translation>
    </message>
    <message>
        <source>The report is not there any more.</source>
        <translation>该报告已不存在。</translation>
    </message>
    <message>
        <source>Open its folder</source>
        <translation>打开所在文件夹</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>A part of the program crashed</source>
        <translation>程序的一部分崩溃了</translation>
    </message>
    <message>
        <source>This report was saved on your computer and is sent nowhere. It holds no messages and no keys; add it when you report the crash.</source>
        <translation>此报告保存在你的电脑上，不会发送到任何地方。其中不含消息和密钥；报告崩溃时请附上它。</translation>
    </message>
    <message>
        <source>Copy the report</source>
        <translation>复制报告</translation>
    </message>
</context>
<context>
    <name>Desk</name>
    <message>
        <source>Chat</source>
        <translation>聊天</translation>
    </message>
    <message>
        <source>Convert</source>
        <translation>转换</translation>
    </message>
    <message>
        <source>Validate</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Server</source>
        <translation>服务</translation>
    </message>
    <message>
        <source>Library</source>
        <translation>模型库</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
</context>
<context>
    <name>DetailsDialog</name>
    <message>
        <source>Details</source>
        <translation>详情</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Copy message and details</source>
        <translation>复制消息和详情</translation>
    </message>
</context>
<context>
    <name>DifferencesCard</name>
    <message>
        <source>Beside the reference</source>
        <translation>与参考实现对照</translation>
    </message>
    <message>
        <source>Differences</source>
        <translation>差异</translation>
    </message>
    <message>
        <source>Show what is the same ({n})</source>
        <translation>显示相同的项（{n}）</translation>
    </message>
    <message>
        <source>Hide what is the same</source>
        <translation>隐藏相同的项</translation>
    </message>
    <message>
        <source>{same} the same · {different} different · {unconfirmed} unconfirmed</source>
        <translation>{same} 项相同 · {different} 项不同 · {unconfirmed} 项未确认</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Data</source>
        <translation>数据</translation>
    </message>
    <message>
        <source>Generation</source>
        <translation>生成</translation>
    </message>
    <message>
        <source>same</source>
        <translation>相同</translation>
    </message>
    <message>
        <source>different</source>
        <translation>不同</translation>
    </message>
    <message>
        <source>unconfirmed</source>
        <translation>未确认</translation>
    </message>
    <message>
        <source>List</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>What</source>
        <translation>项目</translation>
    </message>
    <message>
        <source>Ours</source>
        <translation>本程序</translation>
    </message>
    <message>
        <source>Reference</source>
        <translation>参考</translation>
    </message>
    <message>
        <source>State</source>
        <translation>状态</translation>
    </message>
</context>
<context>
    <name>DiskWorkCard</name>
    <message>
        <source>Progress</source>
        <translation>进度</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Fetch again</source>
        <translation>重新下载</translation>
    </message>
    <message>
        <source>Convert again</source>
        <translation>重新转换</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Verifying {name}</source>
        <translation>正在校验 {name}</translation>
    </message>
    <message>
        <source>{name} is damaged</source>
        <translation>{name} 已损坏</translation>
    </message>
    <message>
        <source>{name} is sound</source>
        <translation>{name} 完好</translation>
    </message>
    <message>
        <source>{count} files, {size}: every byte is what it should be.</source>
        <translation>{count} 个文件，{size}：每个字节都正确。</translation>
    </message>
    <message>
        <source>{name} could not be verified</source>
        <translation>无法校验 {name}</translation>
    </message>
    <message>
        <source>Moving the library to {path}</source>
        <translation>正在把模型库移动到 {path}</translation>
    </message>
    <message>
        <source>{done} of {total}</source>
        <translation>{done} / {total}</translation>
    </message>
</context>
<context>
    <name>DownloadCard</name>
    <message>
        <source>Files of the download</source>
        <translation>此下载的文件</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Convert to chat</source>
        <translation>转换后聊天</translation>
    </message>
    <message>
        <source>{done} of {total}</source>
        <translation>{done} / {total}</translation>
    </message>
    <message>
        <source>checking what is here already</source>
        <translation>正在检查已有的部分</translation>
    </message>
    <message>
        <source>verifying</source>
        <translation>正在校验</translation>
    </message>
    <message>
        <source>{time} left</source>
        <translation>剩余 {time}</translation>
    </message>
    <message>
        <source>Downloaded and verified: {size} in {time}, of it {found} here before.</source>
        <translation>已下载并校验：{size}，用时 {time}，其中 {found} 原先已在本机。</translation>
    </message>
    <message>
        <source>Downloaded of {name}</source>
        <translation>{name} 的下载进度</translation>
    </message>
    <message>
        <source>Fetch {name} sooner</source>
        <translation>提前下载 {name}</translation>
    </message>
    <message>
        <source>Fetch {name} later</source>
        <translation>推后下载 {name}</translation>
    </message>
    <message>
        <source>Take {name} off the list; what has arrived stays on the disk</source>
        <translation>把 {name} 移出列表；已下载的部分留在磁盘上</translation>
    </message>
    <message>
        <source>Waits its turn · {share}</source>
        <translation>排队中 · {share}</translation>
    </message>
    <message>
        <source>Asking the hub…</source>
        <translation>正在询问服务器…</translation>
    </message>
    <message>
        <source>Paused · {share} · stays on the disk, also when the program ends</source>
        <translation>已暂停 · {share} · 留在磁盘上，程序退出后也在</translation>
    </message>
    <message>
        <source>Downloaded and verified: {total}</source>
        <translation>已下载并校验：{total}</translation>
    </message>
    <message>
        <source>stalled: no byte for {time}; after {limit} the connection is made anew</source>
        <translation>停滞：已有 {time} 没有收到数据；超过 {limit} 会重新连接</translation>
    </message>
    <message>
        <source>{n} files, {done} complete</source>
        <translation>{n} 个文件，已完成 {done} 个</translation>
    </message>
    <message>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Here</source>
        <translation>已有</translation>
    </message>
    <message>
        <source>State</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>waits</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>is checked</source>
        <translation>检查中</translation>
    </message>
    <message>
        <source>comes</source>
        <translation>下载中</translation>
    </message>
    <message>
        <source>verified</source>
        <translation>已校验</translation>
    </message>
</context>
<context>
    <name>DownloadPage</name>
    <message>
        <source>Repository or words</source>
        <translation>仓库或关键词</translation>
    </message>
    <message>
        <source>qwen3 4b gguf, org/name, org/name:Q4_K_M, or the address of a model</source>
        <translation>qwen3 4b gguf、org/name、org/name:Q4_K_M，或模型的网址</translation>
    </message>
    <message>
        <source>Find</source>
        <translation>查找</translation>
    </message>
    <message>
        <source>Find a model for this machine</source>
        <translation>为这台电脑找一个模型</translation>
    </message>
    <message>
        <source>You see whether it runs and how much context fits before a byte of its weights is fetched. Files go into the standard Hugging Face cache, resume after anything, and are verified. Nothing is sent but the requests for them.</source>
        <translation>在下载任何权重之前，你就能看到它能否运行、能容纳多长的上下文。文件存入标准的 Hugging Face 缓存，任何中断后都能续传，并经过校验。除了下载请求之外，不会发送任何内容。</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Searching for {name}…</source>
        <translation>正在搜索 {name}…</translation>
    </message>
    <message>
        <source>Looking at {name}…</source>
        <translation>正在查看 {name}…</translation>
    </message>
    <message>
        <source>No access to {name}</source>
        <translation>无权访问 {name}</translation>
    </message>
    <message>
        <source>No answer about {name}</source>
        <translation>没有得到关于 {name} 的回应</translation>
    </message>
    <message>
        <source>{name} was not found</source>
        <translation>没有找到 {name}</translation>
    </message>
    <message>
        <source>it</source>
        <translation>它</translation>
    </message>
    <message>
        <source>{name} was not taken into the list</source>
        <translation>{name} 没有加入列表</translation>
    </message>
    <message>
        <source>Hub: {host}</source>
        <translation>服务器：{host}</translation>
    </message>
    <message>
        <source> and {n} more</source>
        <translation> 等 {n} 个</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Which hub is asked, mirrors, speed, tokens</source>
        <translation>使用哪个服务器、镜像、速度、令牌</translation>
    </message>
    <message>
        <source>Search for it</source>
        <translation>搜索它</translation>
    </message>
</context>
<context>
    <name>DropOverlay</name>
    <message>
        <source>Drop to check {name}</source>
        <translation>松开以检查 {name}</translation>
    </message>
    <message>
        <source>Drop to convert {name}</source>
        <translation>松开以转换 {name}</translation>
    </message>
    <message>
        <source>Drop to convert {n} items</source>
        <translation>松开以转换 {n} 项</translation>
    </message>
    <message>
        <source>Drop to attach {name}</source>
        <translation>松开以附加 {name}</translation>
    </message>
    <message>
        <source>Drop to attach {n} files</source>
        <translation>松开以附加 {n} 个文件</translation>
    </message>
</context>
<context>
    <name>DropZone</name>
    <message>
        <source>Choose a file…</source>
        <translation>选择文件…</translation>
    </message>
    <message>
        <source>Choose a folder…</source>
        <translation>选择文件夹…</translation>
    </message>
    <message>
        <source>No file at hand? Use the starter model</source>
        <translation>手边没有文件？使用入门模型</translation>
    </message>
    <message>
        <source>Ctrl+O</source>
        <translation>Ctrl+O</translation>
    </message>
    <message>
        <source>Drop a .gguf file or a model folder</source>
        <translation>拖入 .gguf 文件或模型文件夹</translation>
    </message>
    <message>
        <source>It becomes one native checkpoint, layer by layer. You see the plan at once and a quality report at the end. The file you drop is only read.</source>
        <translation>它会逐层变成一个本地检查点。你会立即看到计划，最后看到质量报告。拖入的文件只会被读取。</translation>
    </message>
</context>
<context>
    <name>EmptyChat</name>
    <message>
        <source>Choose a file…</source>
        <translation>选择文件…</translation>
    </message>
    <message>
        <source>Use the starter model</source>
        <translation>使用入门模型</translation>
    </message>
    <message>
        <source>Drop a .gguf file anywhere on this window. It is converted once, then it answers here.</source>
        <translation>把 .gguf 文件拖到窗口任意位置。转换一次，就能在这里聊天。</translation>
    </message>
    <message>
        <source>No file at hand? SmolLM2 135M came with the program: small, and it speaks English.</source>
        <translation>手边没有文件？程序自带 SmolLM2 135M：很小，会说英语。</translation>
    </message>
    <message>
        <source>Bring a model</source>
        <translation>先添加一个模型</translation>
    </message>
    <message>
        <source>Choose the model to talk to, or drop another one on the window.</source>
        <translation>选择要聊天的模型，或把另一个拖到窗口上。</translation>
    </message>
    <message>
        <source>Which model?</source>
        <translation>用哪个模型？</translation>
    </message>
    <message>
        <source>A moment.</source>
        <translation>请稍候。</translation>
    </message>
    <message>
        <source>Loading the model…</source>
        <translation>正在加载模型…</translation>
    </message>
    <message>
        <source>Explain why the sky is blue, in three sentences.</source>
        <translation>用三句话解释天空为什么是蓝色的。</translation>
    </message>
    <message>
        <source>Write a Python function that reverses a string.</source>
        <translation>写一个反转字符串的 Python 函数。</translation>
    </message>
    <message>
        <source>Give me five names for a small bakery.</source>
        <translation>给一家小面包店起五个名字。</translation>
    </message>
    <message>
        <source>Everything stays on this machine.</source>
        <translation>所有内容都留在本机。</translation>
    </message>
    <message>
        <source>What you write is sent to {url}.</source>
        <translation>你写的内容会发送到 {url}。</translation>
    </message>
    <message>
        <source>{name} is ready</source>
        <translation>{name} 已就绪</translation>
    </message>
</context>
<context>
    <name>EmptyLibrary</name>
    <message>
        <source>Download a model</source>
        <translation>下载模型</translation>
    </message>
    <message>
        <source>Open the starter model</source>
        <translation>打开入门模型</translation>
    </message>
    <message>
        <source>Choose a file…</source>
        <translation>选择文件…</translation>
    </message>
    <message>
        <source>List a folder of mine…</source>
        <translation>列出我的文件夹…</translation>
    </message>
    <message>
        <source>No model on this disk yet</source>
        <translation>这块磁盘上还没有模型</translation>
    </message>
    <message>
        <source>Converted models, what can be converted, and downloads that have not arrived show up here, also those that other programs left in the Hugging Face cache.</source>
        <translation>已转换的模型、可以转换的文件和未完成的下载会显示在这里，其他程序留在 Hugging Face 缓存里的也会显示。</translation>
    </message>
</context>
<context>
    <name>EndpointsCard</name>
    <message>
        <source>A hub that stands in serves the same files: their digests are compared before a byte is taken from it, and after the last. Tokens stay with their own hub.</source>
        <translation>替补的服务器提供同样的文件：在取用任何字节之前和全部取完之后都会比对摘要。令牌只发给它自己的服务器。</translation>
    </message>
    <message>
        <source>Hubs</source>
        <translation>服务器</translation>
    </message>
    <message>
        <source>Ask this one</source>
        <translation>使用这个</translation>
    </message>
    <message>
        <source>Token…</source>
        <translation>令牌…</translation>
    </message>
    <message>
        <source>Measure speed (1 MB of each)</source>
        <translation>测速（每个 1 MB）</translation>
    </message>
    <message>
        <source>Address of another hub</source>
        <translation>另一个服务器的地址</translation>
    </message>
    <message>
        <source>Add</source>
        <translation>添加</translation>
    </message>
    <message>
        <source>no answer</source>
        <translation>没有回应</translation>
    </message>
    <message>
        <source>{rate}, after {wait}</source>
        <translation>{rate}，等待 {wait}</translation>
    </message>
    <message>
        <source>Do not stand in</source>
        <translation>不作替补</translation>
    </message>
    <message>
        <source>Let it stand in</source>
        <translation>作为替补</translation>
    </message>
    <message>
        <source>Hub</source>
        <translation>服务器</translation>
    </message>
    <message>
        <source>Asked</source>
        <translation>使用</translation>
    </message>
    <message>
        <source>Speed from here</source>
        <translation>从本机测得的速度</translation>
    </message>
    <message>
        <source>no</source>
        <translation>否</translation>
    </message>
    <message>
        <source>stands in</source>
        <translation>替补</translation>
    </message>
    <message>
        <source>first</source>
        <translation>首选</translation>
    </message>
</context>
<context>
    <name>ErrorCard</name>
    <message>
        <source>Details</source>
        <translation>详情</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Throw it away</source>
        <translation>丢弃</translation>
    </message>
    <message>
        <source>Convert again</source>
        <translation>重新转换</translation>
    </message>
    <message>
        <source>Chat with it</source>
        <translation>和它聊天</translation>
    </message>
    <message>
        <source>Copy the message</source>
        <translation>复制消息</translation>
    </message>
    <message>
        <source>{name} was not converted</source>
        <translation>{name} 没有转换</translation>
    </message>
    <message>
        <source>{name} is in the library already</source>
        <translation>{name} 已在模型库中</translation>
    </message>
    <message>
        <source>{name} was not converted; nothing was left behind.</source>
        <translation>{name} 没有转换；没有留下任何文件。</translation>
    </message>
    <message>
        <source>Cancelled</source>
        <translation>已取消</translation>
    </message>
    <message>
        <source>What is done of {name} stays on the disk: resume it now, or drop the file again later.</source>
        <translation>{name} 已完成的部分留在磁盘上：现在继续，或以后再拖入该文件。</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>已暂停</translation>
    </message>
</context>
<context>
    <name>ErrorChart</name>
    <message>
        <source>Relative error of each part</source>
        <translation>各部分的相对误差</translation>
    </message>
    <message>
        <source>Largest in {part}: {error}</source>
        <translation>{part} 中最大：{error}</translation>
    </message>
    <message>
        <source>{part}: mean {mean}, largest {largest}</source>
        <translation>{part}：平均 {mean}，最大 {largest}</translation>
    </message>
</context>
<context>
    <name>ErrorsCard</name>
    <message>
        <source>Error by path</source>
        <translation>按方式统计的误差</translation>
    </message>
    <message>
        <source>Error by layer</source>
        <translation>按层统计的误差</translation>
    </message>
    <message>
        <source>Every tensor</source>
        <translation>所有张量</translation>
    </message>
    <message>
        <source>Copy the tables</source>
        <translation>复制表格</translation>
    </message>
    <message>
        <source>No error anywhere: every weight decodes to what the source decodes to.</source>
        <translation>没有任何误差：每个权重解码后都与来源相同。</translation>
    </message>
    <message>
        <source>‖W′ − W‖ / ‖W‖ against the source&apos;s own decoding: pale is the largest error of a layer&apos;s tensors, strong their mean. The worst layers come first.</source>
        <translation>‖W′ − W‖ / ‖W‖，相对于来源自身的解码：浅色是该层张量的最大误差，深色是平均误差。误差最大的层排在最前。</translation>
    </message>
    <message>
        <source>Hide the tensors</source>
        <translation>隐藏张量</translation>
    </message>
    <message>
        <source>Show every tensor</source>
        <translation>显示所有张量</translation>
    </message>
    <message>
        <source>How</source>
        <translation>方式</translation>
    </message>
    <message>
        <source>Tensors</source>
        <translation>张量数</translation>
    </message>
    <message>
        <source>Part</source>
        <translation>部分</translation>
    </message>
    <message>
        <source>Tensor</source>
        <translation>张量</translation>
    </message>
    <message>
        <source>Source type</source>
        <translation>来源类型</translation>
    </message>
    <message>
        <source>Stored as</source>
        <translation>存储为</translation>
    </message>
    <message>
        <source>Relative error</source>
        <translation>相对误差</translation>
    </message>
    <message>
        <source>Mean error</source>
        <translation>平均误差</translation>
    </message>
    <message>
        <source>Largest error</source>
        <translation>最大误差</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Error by path and layer</source>
        <translation>按方式和层统计的误差</translation>
    </message>
</context>
<context>
    <name>EvaluationCard</name>
    <message>
        <source>Measure the quality</source>
        <translation>测量质量</translation>
    </message>
    <message>
        <source>Compare 8, 4 and 3 bits</source>
        <translation>比较 8、4 和 3 位</translation>
    </message>
    <message>
        <source>Quality of each grid</source>
        <translation>各种格式的质量</translation>
    </message>
    <message>
        <source>Copy the table</source>
        <translation>复制表格</translation>
    </message>
    <message>
        <source>Not measured yet. Perplexity says how well the model predicts a text (lower is better), KL how far its predictions are from the source&apos;s (0 is identical). Measure or compare while you still have the source.</source>
        <translation>尚未测量。困惑度表示模型预测文本的好坏（越低越好），KL 表示其预测与来源的差距（0 表示完全相同）。请在还保留来源文件时测量或比较。</translation>
    </message>
    <message>
        <source>Against the source decoded densely, on {n} tokens of a bundled public-domain text. Memory is weights, workspace and the KV cache of a chat; agreement is how often both find the same token likeliest. Keep the source until you are content.</source>
        <translation>与稠密解码的来源相比，使用内置公版文本的 {n} 个 token。内存包括权重、工作区和一次聊天的 KV 缓存；一致率是两者认为最可能的 token 相同的比例。满意之前请保留来源文件。</translation>
    </message>
    <message>
        <source>Source</source>
        <translation>来源</translation>
    </message>
    <message>
        <source>This one: {grid}</source>
        <translation>本次：{grid}</translation>
    </message>
    <message>
        <source>0, same bits</source>
        <translation>0，逐位相同</translation>
    </message>
    <message>
        <source>Convert to {grid} instead</source>
        <translation>改为转换成 {grid}</translation>
    </message>
    <message>
        <source>Takes the place of this checkpoint in the library</source>
        <translation>取代模型库中的这个检查点</translation>
    </message>
    <message>
        <source>Grid</source>
        <translation>格式</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Perplexity</source>
        <translation>困惑度</translation>
    </message>
    <message>
        <source>Mean KL</source>
        <translation>平均 KL</translation>
    </message>
    <message>
        <source>Agreement</source>
        <translation>一致率</translation>
    </message>
    <message>
        <source>Quality on a text</source>
        <translation>文本上的质量</translation>
    </message>
</context>
<context>
    <name>ExampleCard</name>
    <message>
        <source>Languages</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Try it</source>
        <translation>试一试</translation>
    </message>
    <message>
        <source>Example</source>
        <translation>示例</translation>
    </message>
</context>
<context>
    <name>FileAttacher</name>
    <message>
        <source>Attach text or PDF files</source>
        <translation>附加文本或 PDF 文件</translation>
    </message>
</context>
<context>
    <name>FreeUpCard</name>
    <message>
        <source>Nothing is removed by itself.</source>
        <translation>不会自动删除任何东西。</translation>
    </message>
    <message>
        <source>{size} could be freed</source>
        <translation>可以释放 {size}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove {name}, {size}</source>
        <translation>移除 {name}，{size}</translation>
    </message>
    <message>
        <source>Hide</source>
        <translation>隐藏</translation>
    </message>
    <message>
        <source>Show what</source>
        <translation>显示明细</translation>
    </message>
</context>
<context>
    <name>Grid</name>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Exact</source>
        <translation>精确</translation>
    </message>
    <message>
        <source>4 bits (W4)</source>
        <translation>4 位（W4）</translation>
    </message>
    <message>
        <source>3 bits (W3)</source>
        <translation>3 位（W3）</translation>
    </message>
    <message>
        <source>3 and 4 bits, to fit a budget</source>
        <translation>3 位和 4 位混合，满足预算</translation>
    </message>
    <message>
        <source>8 bits (W8)</source>
        <translation>8 位（W8）</translation>
    </message>
    <message>
        <source>Not quantized (dense)</source>
        <translation>不量化（稠密）</translation>
    </message>
    <message>
        <source>This conversion</source>
        <translation>本次转换</translation>
    </message>
    <message>
        <source>Keeps what is quantized exactly as it is; stores full-precision weights in 4 bits.</source>
        <translation>已量化的部分原样保留；全精度权重存为 4 位。</translation>
    </message>
    <message>
        <source>Every weight keeps the source&apos;s own bits; nothing is lost, nothing shrinks.</source>
        <translation>每个权重保留来源的每一位；没有损失，也不会变小。</translation>
    </message>
    <message>
        <source>About half a byte for each weight: small and fast, with a small loss.</source>
        <translation>每个权重约半个字节：小而快，损失很小。</translation>
    </message>
    <message>
        <source>Up to a quarter smaller than 4 bits, at a loss that you will notice.</source>
        <translation>比 4 位再小最多四分之一，但损失会明显。</translation>
    </message>
    <message>
        <source>Uses 3 bits where they cost least, until the model fits the memory you name.</source>
        <translation>在代价最小的地方用 3 位，直到模型放得进你给定的内存。</translation>
    </message>
    <message>
        <source>One byte for each weight: twice the size of 4 bits, with almost no loss.</source>
        <translation>每个权重一个字节：是 4 位的两倍大，几乎没有损失。</translation>
    </message>
    <message>
        <source>Full-precision weights: the largest and slowest, without any further loss.</source>
        <translation>全精度权重：最大也最慢，没有进一步的损失。</translation>
    </message>
</context>
<context>
    <name>GridChoice</name>
    <message>
        <source>Accept weights that 8 bits do not hold well</source>
        <translation>接受 8 位保存不好的权重</translation>
    </message>
    <message>
        <source>Group size</source>
        <translation>分组大小</translation>
    </message>
    <message>
        <source>Otherwise a conversion that loses more than 2 % at 8 bits is refused.</source>
        <translation>否则，8 位时损失超过 2 % 的转换会被拒绝。</translation>
    </message>
    <message>
        <source>Weights and workspace may take</source>
        <translation>权重和工作区最多可占用</translation>
    </message>
    <message>
        <source>Memory budget in MiB</source>
        <translation>内存预算（MiB）</translation>
    </message>
    <message>
        <source>Group size {size}</source>
        <translation>分组大小 {size}</translation>
    </message>
    <message>
        <source>smaller groups: less loss, more bytes</source>
        <translation>分组越小，损失越少，字节越多</translation>
    </message>
</context>
<context>
    <name>ItemCard</name>
    <message>
        <source>Copy the path</source>
        <translation>复制路径</translation>
    </message>
    <message>
        <source>verified</source>
        <translation>已校验</translation>
    </message>
    <message>
        <source>converted as {name}</source>
        <translation>已转换为 {name}</translation>
    </message>
    <message>
        <source>It is {use} right now, and cannot be removed.</source>
        <translation>它正在{use}，不能移除。</translation>
    </message>
    <message>
        <source>An older revision: no branch or tag means it any more.</source>
        <translation>旧版本：已没有分支或标签指向它。</translation>
    </message>
</context>
<context>
    <name>Library</name>
    <message>
        <source>Chat with it</source>
        <translation>和它聊天</translation>
    </message>
    <message>
        <source>Convert</source>
        <translation>转换</translation>
    </message>
    <message>
        <source>Go on</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Fetch again</source>
        <translation>重新下载</translation>
    </message>
    <message>
        <source>Validate</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>Verify</source>
        <translation>校验</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>在文件夹中显示</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>移除…</translation>
    </message>
    <message>
        <source>Loads it and opens a new conversation (Enter)</source>
        <translation>加载它并开始新对话（Enter）</translation>
    </message>
    <message>
        <source>Plans a conversion into the library</source>
        <translation>计划转换到模型库</translation>
    </message>
    <message>
        <source>Goes on from what is on the disk</source>
        <translation>从磁盘上已有的部分继续</translation>
    </message>
    <message>
        <source>Removes the broken files and downloads them once more</source>
        <translation>删除损坏的文件并重新下载</translation>
    </message>
    <message>
        <source>Holds it to the reference implementation</source>
        <translation>与参考实现对照</translation>
    </message>
    <message>
        <source>Reads every byte and compares its digests</source>
        <translation>读取每个字节并比对摘要</translation>
    </message>
    <message>
        <source>Opens the file manager (Ctrl+Shift+E)</source>
        <translation>打开文件管理器（Ctrl+Shift+E）</translation>
    </message>
    <message>
        <source>Moves it to the trash, after asking (Del)</source>
        <translation>询问后移到回收站（Del）</translation>
    </message>
    <message>
        <source>Ready to chat</source>
        <translation>可以聊天</translation>
    </message>
    <message>
        <source>Can be converted</source>
        <translation>可以转换</translation>
    </message>
    <message>
        <source>Incomplete downloads</source>
        <translation>未完成的下载</translation>
    </message>
    <message>
        <source>Interrupted conversions</source>
        <translation>中断的转换</translation>
    </message>
    <message>
        <source>Damaged</source>
        <translation>已损坏</translation>
    </message>
    <message>
        <source>Of no use here</source>
        <translation>此处无用</translation>
    </message>
    <message>
        <source>Library</source>
        <translation>模型库</translation>
    </message>
    <message>
        <source>Loaded here {when}</source>
        <translation>{when} 在此加载</translation>
    </message>
    <message>
        <source>Read {when}, as the file system says</source>
        <translation>{when} 读取（据文件系统）</translation>
    </message>
    <message>
        <source>Changed {when}; when it was read is not known</source>
        <translation>{when} 更改；不知何时被读取</translation>
    </message>
    <message>
        <source>{grid}, lossless</source>
        <translation>{grid}，无损</translation>
    </message>
    <message>
        <source>converted; its checkpoint is verified</source>
        <translation>已转换；其检查点已校验</translation>
    </message>
    <message>
        <source>nobody went on with it for a week</source>
        <translation>一周没有人继续它</translation>
    </message>
    <message>
        <source>an older revision</source>
        <translation>旧版本</translation>
    </message>
    <message>
        <source>an interrupted conversion</source>
        <translation>中断的转换</translation>
    </message>
    <message>
        <source>left behind by a removal</source>
        <translation>移除时留下的</translation>
    </message>
</context>
<context>
    <name>LibraryBanners</name>
    <message>
        <source>{names} was deleted ({size}).</source>
        <translation>{names} 已删除（{size}）。</translation>
    </message>
    <message>
        <source>{names} is in the trash ({size}).</source>
        <translation>{names} 已移到回收站（{size}）。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>It can be brought back from there.</source>
        <translation>可以从那里恢复。</translation>
    </message>
    <message>
        <source>{names} is back.</source>
        <translation>{names} 已恢复。</translation>
    </message>
    <message>
        <source>The library is in {path} now.</source>
        <translation>模型库现在位于 {path}。</translation>
    </message>
    <message>
        <source>A move to {path} was interrupted; some models are there already.</source>
        <translation>移动到 {path} 的过程被中断；部分模型已在那里。</translation>
    </message>
    <message>
        <source>Go on</source>
        <translation>继续</translation>
    </message>
</context>
<context>
    <name>LibraryFolderRow</name>
    <message>
        <source>Move…</source>
        <translation>移动…</translation>
    </message>
    <message>
        <source>Move the models to another folder</source>
        <translation>把模型移动到另一个文件夹</translation>
    </message>
    <message>
        <source>Folder of the models</source>
        <translation>模型文件夹</translation>
    </message>
</context>
<context>
    <name>LibraryHead</name>
    <message>
        <source>Library</source>
        <translation>模型库</translation>
    </message>
    <message>
        <source>Used of the library&apos;s disk</source>
        <translation>模型库所在磁盘的占用</translation>
    </message>
    <message>
        <source>Looking at this disk</source>
        <translation>正在查看这块磁盘</translation>
    </message>
    <message>
        <source>Filter by name, family, bits or folder</source>
        <translation>按名称、系列、位数或文件夹筛选</translation>
    </message>
    <message>
        <source>Filter</source>
        <translation>筛选</translation>
    </message>
    <message>
        <source>Clear the filter</source>
        <translation>清除筛选</translation>
    </message>
    <message>
        <source>Look again (F5)</source>
        <translation>重新查看（F5）</translation>
    </message>
    <message>
        <source>Folders</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>{items}, {size}  ·  {free} of {all} free</source>
        <translation>{items}，{size}  ·  剩余 {free}，共 {all}</translation>
    </message>
    <message>
        <source>1 item</source>
        <translation>1 项</translation>
    </message>
    <message>
        <source>{count} items</source>
        <translation>{count} 项</translation>
    </message>
    <message>
        <source>List a folder of mine…</source>
        <translation>列出我的文件夹…</translation>
    </message>
    <message>
        <source>No longer list {path}</source>
        <translation>不再列出 {path}</translation>
    </message>
    <message>
        <source>Show the library&apos;s folder</source>
        <translation>显示模型库的文件夹</translation>
    </message>
    <message>
        <source>Move the library…</source>
        <translation>移动模型库…</translation>
    </message>
    <message>
        <source>Looking at this disk…</source>
        <translation>正在查看这块磁盘…</translation>
    </message>
</context>
<context>
    <name>LibraryModel</name>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Family</source>
        <translation>系列</translation>
    </message>
    <message>
        <source>Bits</source>
        <translation>位数</translation>
    </message>
    <message>
        <source>Last used</source>
        <translation>上次使用</translation>
    </message>
    <message>
        <source>Where</source>
        <translation>位置</translation>
    </message>
</context>
<context>
    <name>LibraryTable</name>
    <message>
        <source>What is on this disk</source>
        <translation>这块磁盘上的内容</translation>
    </message>
    <message>
        <source>Columns</source>
        <translation>列</translation>
    </message>
</context>
<context>
    <name>LiveExport</name>
    <message>
        <source>Save the numbers</source>
        <translation>保存数据</translation>
    </message>
    <message>
        <source>Table (*.csv)</source>
        <translation>表格 (*.csv)</translation>
    </message>
    <message>
        <source>Save the picture</source>
        <translation>保存图片</translation>
    </message>
    <message>
        <source>Picture (*.png)</source>
        <translation>图片 (*.png)</translation>
    </message>
</context>
<context>
    <name>LivePanel</name>
    <message>
        <source>Hold the plots still</source>
        <translation>暂停图表</translation>
    </message>
    <message>
        <source>Save the numbers or a picture</source>
        <translation>保存数据或图片</translation>
    </message>
    <message>
        <source>No model loaded</source>
        <translation>没有加载模型</translation>
    </message>
    <message>
        <source>{used} of {total}</source>
        <translation>{used} / {total}</translation>
    </message>
    <message>
        <source>{size} do not fit the card: Windows keeps them in slow shared memory.</source>
        <translation>显卡放不下 {size}：Windows 把它们放在较慢的共享内存里。</translation>
    </message>
    <message>
        <source>{name}: CUDA itself {context}</source>
        <translation>{name}：CUDA 自身占用 {context}</translation>
    </message>
    <message>
        <source>Kernels run {busy} of the time; graphs replayed: {count}</source>
        <translation>内核运行时间占 {busy}；图重放次数：{count}</translation>
    </message>
    <message>
        <source>Kernels run {busy} of the time; graphs replayed: {count}, {replays} for a token, with {launches} kernels</source>
        <translation>内核运行时间占 {busy}；图重放次数：{count}，每个 token {replays} 次，含 {launches} 个内核</translation>
    </message>
    <message>
        <source>{rate} tok/s</source>
        <translation>{rate} tok/s</translation>
    </message>
    <message>
        <source>prompt: {done} of {total} tokens</source>
        <translation>提示词：{done} / {total} 个 token</translation>
    </message>
    <message>
        <source>prompt: {done} of {total} tokens, {rate} tok/s</source>
        <translation>提示词：{done} / {total} 个 token，{rate} tok/s</translation>
    </message>
    <message>
        <source>Let the plots go on</source>
        <translation>继续更新图表</translation>
    </message>
    <message>
        <source>Memory over time</source>
        <translation>内存随时间变化</translation>
    </message>
    <message>
        <source>Tokens per second over time</source>
        <translation>每秒 token 数随时间变化</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>速度</translation>
    </message>
    <message>
        <source>Numbers as CSV…</source>
        <translation>数据存为 CSV…</translation>
    </message>
    <message>
        <source>Picture…</source>
        <translation>图片…</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV 缓存</translation>
    </message>
    <message>
        <source>Workspace</source>
        <translation>工作区</translation>
    </message>
    <message>
        <source>Rest</source>
        <translation>其他</translation>
    </message>
</context>
<context>
    <name>Machine</name>
    <message>
        <source>cores: {n}</source>
        <translation>{n} 核</translation>
    </message>
    <message>
        <source>{size}, {free} free</source>
        <translation>{size}，可用 {free}</translation>
    </message>
    <message>
        <source>{size} free</source>
        <translation>可用 {size}</translation>
    </message>
    <message>
        <source>Graphics card</source>
        <translation>显卡</translation>
    </message>
    <message>
        <source>Processor</source>
        <translation>处理器</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Disk</source>
        <translation>硬盘</translation>
    </message>
    <message>
        <source>There is no room for a model now: close other programs.</source>
        <translation>现在没有足够的内存运行模型：请关闭其他程序。</translation>
    </message>
    <message>
        <source>Models answer slowly here now; the smallest do best.</source>
        <translation>模型目前在这里回答较慢；最小的模型效果最好。</translation>
    </message>
    <message>
        <source>Models up to about {size} at 4 bits answer quickly here.</source>
        <translation>约 {size} 以内的 4 位模型在这里回答很快。</translation>
    </message>
    <message>
        <source>{size} fits with {n} tokens of context, and takes its time.</source>
        <translation>{size} 也能运行，上下文为 {n} 个 token，但会慢一些。</translation>
    </message>
    <message>
        <source>driver {version}</source>
        <translation>驱动 {version}</translation>
    </message>
    <message>
        <source>{first} {second}</source>
        <translation>{first}{second}</translation>
    </message>
</context>
<context>
    <name>MachineCard</name>
    <message>
        <source>This computer</source>
        <translation>这台电脑</translation>
    </message>
    <message>
        <source>What this computer has could not be found out.</source>
        <translation>无法得知这台电脑的配置。</translation>
    </message>
    <message>
        <source>Looking at this computer…</source>
        <translation>正在查看这台电脑…</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>A part of the program crashed; a report was saved on this computer.</source>
        <translation>程序的一部分崩溃了；报告已保存在这台电脑上。</translation>
    </message>
    <message>
        <source>DeepInfer crashed; a report of it was saved on this computer.</source>
        <translation>DeepInfer 上次崩溃了；报告已保存在这台电脑上。</translation>
    </message>
    <message>
        <source>Show report</source>
        <translation>显示报告</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly; it was started again, as the port is on.</source>
        <translation>引擎意外停止；由于服务已开启，引擎已重新启动。</translation>
    </message>
</context>
<context>
    <name>MemoryPlot</name>
    <message>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV 缓存</translation>
    </message>
    <message>
        <source>Workspace</source>
        <translation>工作区</translation>
    </message>
    <message>
        <source>Rest</source>
        <translation>其他</translation>
    </message>
</context>
<context>
    <name>ModelPicker</name>
    <message>
        <source>Load a model (Ctrl+L)</source>
        <translation>加载模型（Ctrl+L）</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>正在加载…</translation>
    </message>
    <message>
        <source>Unloading…</source>
        <translation>正在卸载…</translation>
    </message>
    <message>
        <source>Engine stopped</source>
        <translation>引擎已停止</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Model: {name}</source>
        <translation>模型：{name}</translation>
    </message>
    <message>
        <source>The library is empty</source>
        <translation>模型库是空的</translation>
    </message>
    <message>
        <source>Convert another model…</source>
        <translation>转换另一个模型…</translation>
    </message>
    <message>
        <source>Disconnect</source>
        <translation>断开连接</translation>
    </message>
    <message>
        <source>Unload and free its memory</source>
        <translation>卸载并释放内存</translation>
    </message>
    <message>
        <source>Remote server…</source>
        <translation>远程服务器…</translation>
    </message>
</context>
<context>
    <name>MoveLibraryDialog</name>
    <message>
        <source>Move the library</source>
        <translation>移动模型库</translation>
    </message>
    <message>
        <source>New folder</source>
        <translation>新文件夹</translation>
    </message>
    <message>
        <source>Browse…</source>
        <translation>浏览…</translation>
    </message>
    <message>
        <source>Choose the new folder</source>
        <translation>选择新文件夹</translation>
    </message>
    <message>
        <source>Move</source>
        <translation>移动</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Choose the library&apos;s folder</source>
        <translation>选择模型库的文件夹</translation>
    </message>
    <message>
        <source>It is in {path} now.</source>
        <translation>现在位于 {path}。</translation>
    </message>
    <message>
        <source>Models go to the new folder, where those that are converted from now on will be, too. On another disk they are copied, compared byte for byte, and only then removed here. Unload a model that is in use first.</source>
        <translation>模型会移到新文件夹，以后转换的模型也存在那里。如果在另一块磁盘上，会先复制并逐字节比对，然后才在这里删除。请先卸载正在使用的模型。</translation>
    </message>
</context>
<context>
    <name>NavigationRail</name>
    <message>
        <source>Pages</source>
        <translation>页面</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>Follow the system</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
</context>
<context>
    <name>OptionsCard</name>
    <message>
        <source>Planning</source>
        <translation>正在计划</translation>
    </message>
    <message>
        <source>Convert</source>
        <translation>转换</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Measure the quality afterwards</source>
        <translation>完成后测量质量</translation>
    </message>
    <message>
        <source>Compare 8, 4 and 3 bits side by side</source>
        <translation>并排比较 8、4 和 3 位</translation>
    </message>
    <message>
        <source>Other ways to convert</source>
        <translation>其他转换方式</translation>
    </message>
    <message>
        <source>Convert all {count}</source>
        <translation>全部转换（{count} 个）</translation>
    </message>
    <message>
        <source>Planning…</source>
        <translation>正在计划…</translation>
    </message>
    <message>
        <source>Measuring what 3 bits cost: {done} of {total} weight matrices</source>
        <translation>正在测量 3 位的代价：{done} / {total} 个权重矩阵</translation>
    </message>
    <message>
        <source>{size} on the disk  ·  about {memory} of memory with {n} tokens of context</source>
        <translation>磁盘 {size}  ·  上下文 {n} 个 token 时约需内存 {memory}</translation>
    </message>
    <message>
        <source>Recommended: {grid}</source>
        <translation>推荐：{grid}</translation>
    </message>
    <message>
        <source>Perplexity, and KL divergence from the source decoded densely, on a bundled public-domain text. Takes a few minutes for a large model.</source>
        <translation>在内置公版文本上的困惑度，以及与稠密解码来源的 KL 散度。大模型需要几分钟。</translation>
    </message>
    <message>
        <source>Also converts to these grids, measures each, and throws them away again.</source>
        <translation>另外转换成这些格式，分别测量，然后丢弃。</translation>
    </message>
</context>
<context>
    <name>Path</name>
    <message>
        <source>exact</source>
        <translation>精确</translation>
    </message>
    <message>
        <source>grid kept</source>
        <translation>保留格式</translation>
    </message>
    <message>
        <source>requantized</source>
        <translation>重新量化</translation>
    </message>
    <message>
        <source>kept dense</source>
        <translation>保留稠密</translation>
    </message>
    <message>
        <source>Decodes bit for bit to what the source decodes to.</source>
        <translation>解码后与来源逐位相同。</translation>
    </message>
    <message>
        <source>The source&apos;s grid is kept; only the scales are stored in another precision.</source>
        <translation>保留来源的格式；只是缩放系数以另一种精度存储。</translation>
    </message>
    <message>
        <source>Quantized anew with the smallest error found; not lossless.</source>
        <translation>以找到的最小误差重新量化；有损。</translation>
    </message>
    <message>
        <source>Not quantized.</source>
        <translation>未量化。</translation>
    </message>
</context>
<context>
    <name>PlanCard</name>
    <message>
        <source>Plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>Conversion plan</source>
        <translation>转换计划</translation>
    </message>
    <message>
        <source>Source type</source>
        <translation>来源类型</translation>
    </message>
    <message>
        <source>Becomes</source>
        <translation>变为</translation>
    </message>
    <message>
        <source>How</source>
        <translation>方式</translation>
    </message>
    <message>
        <source>Tensors</source>
        <translation>张量数</translation>
    </message>
    <message>
        <source>Before</source>
        <translation>之前</translation>
    </message>
    <message>
        <source>After</source>
        <translation>之后</translation>
    </message>
</context>
<context>
    <name>Problem</name>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Open the library</source>
        <translation>打开模型库</translation>
    </message>
    <message>
        <source>Model settings</source>
        <translation>模型设置</translation>
    </message>
    <message>
        <source>Download settings</source>
        <translation>下载设置</translation>
    </message>
    <message>
        <source>Choose another model</source>
        <translation>换一个模型</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>The file cannot be used</source>
        <translation>无法使用该文件</translation>
    </message>
    <message>
        <source>Download it again: an incomplete copy is the usual cause.</source>
        <translation>请重新下载：常见原因是文件不完整。</translation>
    </message>
    <message>
        <source>This is not supported</source>
        <translation>不支持</translation>
    </message>
    <message>
        <source>Choose another version of the model, or another model.</source>
        <translation>请选择该模型的其他版本，或换一个模型。</translation>
    </message>
    <message>
        <source>The converted model is damaged</source>
        <translation>转换后的模型已损坏</translation>
    </message>
    <message>
        <source>Convert it again from its source. The library shows both.</source>
        <translation>请从源文件重新转换；两者都可在模型库中找到。</translation>
    </message>
    <message>
        <source>Not enough disk space</source>
        <translation>磁盘空间不足</translation>
    </message>
    <message>
        <source>The library shows what takes up space and what can be removed.</source>
        <translation>模型库会显示占用空间的内容以及可以删除的内容。</translation>
    </message>
    <message>
        <source>A file cannot be read or written</source>
        <translation>文件无法读取或写入</translation>
    </message>
    <message>
        <source>It is in use right now</source>
        <translation>正在使用中</translation>
    </message>
    <message>
        <source>The port cannot be used</source>
        <translation>端口无法使用</translation>
    </message>
    <message>
        <source>Not enough memory</source>
        <translation>内存不足</translation>
    </message>
    <message>
        <source>This computer does not meet the requirements</source>
        <translation>这台电脑不满足要求</translation>
    </message>
    <message>
        <source>A required component is not installed</source>
        <translation>缺少必需的组件</translation>
    </message>
    <message>
        <source>The conversation is too long for the context</source>
        <translation>对话超出了上下文长度</translation>
    </message>
    <message>
        <source>Start a new one, or choose a longer context.</source>
        <translation>请开始新对话，或选择更长的上下文。</translation>
    </message>
    <message>
        <source>The engine had to stop</source>
        <translation>引擎被迫停止</translation>
    </message>
    <message>
        <source>Load the model again, or another one.</source>
        <translation>请重新加载模型，或换一个模型。</translation>
    </message>
    <message>
        <source>The hub denied access</source>
        <translation>模型站拒绝访问</translation>
    </message>
    <message>
        <source>The hub is not asked</source>
        <translation>不会查询模型站</translation>
    </message>
    <message>
        <source>The hub does not answer</source>
        <translation>模型站没有响应</translation>
    </message>
    <message>
        <source>Try again later, or choose another address for the hub.</source>
        <translation>请稍后重试，或为模型站选择其他地址。</translation>
    </message>
    <message>
        <source>The other server did not answer</source>
        <translation>远程服务器没有响应</translation>
    </message>
    <message>
        <source>Conversations cannot be read or saved</source>
        <translation>无法读取或保存对话</translation>
    </message>
    <message>
        <source>Part of the program stopped unexpectedly</source>
        <translation>程序的一部分意外停止了</translation>
    </message>
    <message>
        <source>Something went wrong inside the program</source>
        <translation>程序内部出错</translation>
    </message>
</context>
<context>
    <name>ProgressCard</name>
    <message>
        <source>Overall progress</source>
        <translation>总进度</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Stops now; what is done is kept to be resumed</source>
        <translation>立即停止；已完成的部分保留，可以继续</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Reading the source…</source>
        <translation>正在读取来源…</translation>
    </message>
    <message>
        <source>Converting…</source>
        <translation>正在转换…</translation>
    </message>
    <message>
        <source>Measuring…</source>
        <translation>正在测量…</translation>
    </message>
    <message>
        <source>Measuring what 3 bits cost… {percent} %</source>
        <translation>正在测量 3 位的代价… {percent} %</translation>
    </message>
    <message>
        <source>{done} of {total} weight matrices</source>
        <translation>{done} / {total} 个权重矩阵</translation>
    </message>
    <message>
        <source>Converting… {percent} %</source>
        <translation>正在转换… {percent} %</translation>
    </message>
    <message>
        <source>Converting to compare: {grid}… {percent} %</source>
        <translation>正在转换以作比较：{grid}… {percent} %</translation>
    </message>
    <message>
        <source>Measuring the quality: {grid}… {percent} %</source>
        <translation>正在测量质量：{grid}… {percent} %</translation>
    </message>
    <message>
        <source>{done} of {total} tokens of the bundled text</source>
        <translation>内置文本 {done} / {total} 个 token</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>正在停止…</translation>
    </message>
    <message>
        <source>{time} left</source>
        <translation>剩余 {time}</translation>
    </message>
</context>
<context>
    <name>PromptsCard</name>
    <message>
        <source>Rendered prompts</source>
        <translation>渲染后的提示词</translation>
    </message>
</context>
<context>
    <name>QueueView</name>
    <message>
        <source> · {n} waiting</source>
        <translation> · {n} 个等待中</translation>
    </message>
    <message>
        <source>Downloads</source>
        <translation>下载</translation>
    </message>
</context>
<context>
    <name>RatePlot</name>
    <message>
        <source>{rate} tok/s</source>
        <translation>{rate} tok/s</translation>
    </message>
    <message>
        <source>prompt: {done} of {total} tokens</source>
        <translation>提示词：{done} / {total} 个 token</translation>
    </message>
    <message>
        <source>prompt: {done} of {total} tokens, {rate} tok/s</source>
        <translation>提示词：{done} / {total} 个 token，{rate} tok/s</translation>
    </message>
</context>
<context>
    <name>RemoteDialog</name>
    <message>
        <source>Remote server</source>
        <translation>远程服务器</translation>
    </message>
    <message>
        <source>API key</source>
        <translation>API 密钥</translation>
    </message>
    <message>
        <source>Only if the server asks for one</source>
        <translation>仅在服务器要求时需要</translation>
    </message>
    <message>
        <source>Test</source>
        <translation>测试</translation>
    </message>
    <message>
        <source>Asks the address for its models</source>
        <translation>向该地址查询其模型</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Connect</source>
        <translation>连接</translation>
    </message>
    <message>
        <source>Asking for its models…</source>
        <translation>正在询问它的模型…</translation>
    </message>
    <message>
        <source>It answers, but has no model loaded.</source>
        <translation>它有回应，但没有加载模型。</translation>
    </message>
    <message>
        <source>It answers. Models: {n}.</source>
        <translation>它有回应。模型：{n} 个。</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>The key and the chat travel unencrypted to this address (http).</source>
        <translation>密钥和聊天内容以未加密方式（http）发送到这个地址。</translation>
    </message>
    <message>
        <source>The first that it lists</source>
        <translation>它列出的第一个</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Chat with another server</source>
        <translation>和另一台服务器聊天</translation>
    </message>
    <message>
        <source>vLLM, llama-server, or this program on another machine: anything that speaks the OpenAI API. What is said is sent there; conversations stay on this disk.</source>
        <translation>vLLM、llama-server，或另一台机器上的本程序：任何支持 OpenAI API 的服务都可以。说的内容会发送过去；对话保存在本机磁盘。</translation>
    </message>
    <message>
        <source>The key goes into the system&apos;s keyring; where there is none it is forgotten when the program ends.</source>
        <translation>密钥存入系统的密钥环；没有密钥环时，程序结束后即忘记。</translation>
    </message>
</context>
<context>
    <name>RemoveDialog</name>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Delete for good</source>
        <translation>永久删除</translation>
    </message>
    <message>
        <source>Move to the trash</source>
        <translation>移到回收站</translation>
    </message>
    <message>
        <source>Delete {count} items for good?</source>
        <translation>永久删除 {count} 项？</translation>
    </message>
    <message>
        <source>Move {count} items to the trash?</source>
        <translation>把 {count} 项移到回收站？</translation>
    </message>
    <message>
        <source>{size} will be free once the trash is emptied.</source>
        <translation>清空回收站后将释放 {size}。</translation>
    </message>
    <message>
        <source>{size} will be free once the trash is emptied. For other programs that use the Hugging Face cache, what is removed is gone, too.</source>
        <translation>清空回收站后将释放 {size}。使用 Hugging Face 缓存的其他程序也无法再使用移除的内容。</translation>
    </message>
    <message>
        <source>Delete {name} for good?</source>
        <translation>永久删除 {name}？</translation>
    </message>
    <message>
        <source>Move {name} to the trash?</source>
        <translation>把 {name} 移到回收站？</translation>
    </message>
    <message>
        <source>{reason} That frees {size} and cannot be undone.</source>
        <translation>{reason}这会释放 {size}，且无法撤销。</translation>
    </message>
    <message>
        <source>and {count} more</source>
        <translation>以及另外 {count} 个</translation>
    </message>
</context>
<context>
    <name>Reply</name>
    <message>
        <source>interrupted: the engine ended</source>
        <translation>已中断：引擎结束了</translation>
    </message>
    <message>
        <source>{n} tokens (prompt {prompt})</source>
        <translation>{n} 个 token（提示词 {prompt}）</translation>
    </message>
    <message>
        <source>{n} tokens (prompt {prompt}, {cached} of them cached)</source>
        <translation>{n} 个 token（提示词 {prompt}，其中 {cached} 个来自缓存）</translation>
    </message>
    <message>
        <source>{rate} tok/s</source>
        <translation>{rate} tok/s</translation>
    </message>
    <message>
        <source>first token {time}</source>
        <translation>首个 token {time}</translation>
    </message>
    <message>
        <source>ended at the length limit</source>
        <translation>达到长度上限</translation>
    </message>
    <message>
        <source>stopped by you</source>
        <translation>由你停止</translation>
    </message>
</context>
<context>
    <name>ReplyCard</name>
    <message>
        <source>Reply</source>
        <translation>回复</translation>
    </message>
    <message>
        <source>Reading the prompt…</source>
        <translation>正在读取提示词…</translation>
    </message>
    <message>
        <source>Copy reply</source>
        <translation>复制回复</translation>
    </message>
    <message>
        <source>Regenerate (Ctrl+R)</source>
        <translation>重新生成（Ctrl+R）</translation>
    </message>
    <message>
        <source>Continue (Alt+Enter)</source>
        <translation>继续写（Alt+Enter）</translation>
    </message>
    <message>
        <source>Delete this reply</source>
        <translation>删除此回复</translation>
    </message>
    <message>
        <source>Reading the prompt… {done} of {total} tokens</source>
        <translation>正在读取提示词… {done} / {total} 个 token</translation>
    </message>
    <message>
        <source>Reading the prompt… {done} of {total} tokens, {rate} tok/s</source>
        <translation>正在读取提示词… {done} / {total} 个 token，{rate} tok/s</translation>
    </message>
</context>
<context>
    <name>ReportCard</name>
    <message>
        <source>Converted</source>
        <translation>已转换</translation>
    </message>
    <message>
        <source>Chat with it</source>
        <translation>和它聊天</translation>
    </message>
    <message>
        <source>Open folder</source>
        <translation>打开文件夹</translation>
    </message>
    <message>
        <source>Save report…</source>
        <translation>保存报告…</translation>
    </message>
    <message>
        <source>✓ Lossless</source>
        <translation>✓ 无损</translation>
    </message>
    <message>
        <source>Every tensor decodes bit for bit to what the source decodes to.</source>
        <translation>每个张量解码后都与来源逐位相同。</translation>
    </message>
    <message>
        <source>Largest relative error {error}</source>
        <translation>最大相对误差 {error}</translation>
    </message>
    <message>
        <source>Measured per tensor against the source&apos;s own decoding.</source>
        <translation>逐张量与来源自身的解码比较。</translation>
    </message>
    <message>
        <source>{before} → {after}</source>
        <translation>{before} → {after}</translation>
    </message>
    <message>
        <source>tensors {path}</source>
        <translation>{path}的张量</translation>
    </message>
    <message>
        <source>largest relative error</source>
        <translation>最大相对误差</translation>
    </message>
    <message>
        <source>size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>peak memory</source>
        <translation>内存峰值</translation>
    </message>
</context>
<context>
    <name>ReportDialog</name>
    <message>
        <source>Save the report</source>
        <translation>保存报告</translation>
    </message>
    <message>
        <source>Markdown, and JSON beside it (*.md)</source>
        <translation>Markdown，旁边附 JSON (*.md)</translation>
    </message>
</context>
<context>
    <name>RepositoryCard</name>
    <message>
        <source>Models of the repository</source>
        <translation>仓库中的模型</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>‹ Back to what was found</source>
        <translation>‹ 返回搜索结果</translation>
    </message>
    <message>
        <source>To the list (all of it is here)</source>
        <translation>加入列表（已全部在本机）</translation>
    </message>
    <message>
        <source>Go on downloading ({size})</source>
        <translation>继续下载（{size}）</translation>
    </message>
    <message>
        <source>Download ({size})</source>
        <translation>下载（{size}）</translation>
    </message>
    <message>
        <source>{grid}: {n} tokens ({m} with an 8-bit KV cache)</source>
        <translation>{grid}：{n} 个 token（8 位 KV 缓存时 {m} 个）</translation>
    </message>
    <message>
        <source>{grid}: {n} tokens</source>
        <translation>{grid}：{n} 个 token</translation>
    </message>
    <message>
        <source>Context by conversion: {list}</source>
        <translation>各种转换的上下文：{list}</translation>
    </message>
    <message>
        <source>no licence is named</source>
        <translation>未注明许可证</translation>
    </message>
    <message>
        <source>{n} downloads</source>
        <translation>{n} 次下载</translation>
    </message>
    <message>
        <source>gated: its terms must be accepted</source>
        <translation>受限：需要先接受其条款</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>On this disk</source>
        <translation>在本机</translation>
    </message>
    <message>
        <source>Converted</source>
        <translation>已转换</translation>
    </message>
    <message>
        <source>Context that fits</source>
        <translation>可容纳的上下文</translation>
    </message>
    <message>
        <source>refused</source>
        <translation>不支持</translation>
    </message>
    <message>
        <source>unknown</source>
        <translation>未知</translation>
    </message>
    <message>
        <source>{n} tokens</source>
        <translation>{n} 个 token</translation>
    </message>
</context>
<context>
    <name>RequestRow</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>unknown client</source>
        <translation>未知客户端</translation>
    </message>
    <message>
        <source>Cancel the request of {client}</source>
        <translation>取消 {client} 的请求</translation>
    </message>
    <message>
        <source>prompt {n}</source>
        <translation>提示词 {n}</translation>
    </message>
    <message>
        <source>{n} tokens</source>
        <translation>{n} 个 token</translation>
    </message>
    <message>
        <source>{rate} tok/s</source>
        <translation>{rate} tok/s</translation>
    </message>
</context>
<context>
    <name>RequestsCard</name>
    <message>
        <source>No requests at the moment. Each one appears here while it runs.</source>
        <translation>目前没有请求。请求运行时会显示在这里。</translation>
    </message>
    <message>
        <source>Clear</source>
        <translation>清空</translation>
    </message>
    <message>
        <source>Empties the log</source>
        <translation>清空日志</translation>
    </message>
    <message>
        <source>Requests that have ended</source>
        <translation>已结束的请求</translation>
    </message>
    <message>
        <source>… and {n} more</source>
        <translation>… 另有 {n} 个</translation>
    </message>
    <message>
        <source>{n} so far</source>
        <translation>已有 {n} 个</translation>
    </message>
    <message>
        <source>Client</source>
        <translation>客户端</translation>
    </message>
    <message>
        <source>Began</source>
        <translation>开始时间</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>提示词</translation>
    </message>
    <message>
        <source>Reply</source>
        <translation>回复</translation>
    </message>
    <message>
        <source>tok/s</source>
        <translation>tok/s</translation>
    </message>
    <message>
        <source>Took</source>
        <translation>用时</translation>
    </message>
    <message>
        <source>Result</source>
        <translation>结果</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>日志</translation>
    </message>
    <message>
        <source>{state} ({status})</source>
        <translation>{state}（{status}）</translation>
    </message>
</context>
<context>
    <name>ResultsCard</name>
    <message>
        <source>Repositories that were found</source>
        <translation>找到的仓库</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Found for “{words}” at {host}</source>
        <translation>在 {host} 找到的“{words}”</translation>
    </message>
    <message>
        <source>The most downloaded first. Open one to see its sizes and what fits.</source>
        <translation>下载最多的排在最前。打开一个可查看其大小和能否放下。</translation>
    </message>
    <message>
        <source>{host} has no model called “{words}”</source>
        <translation>{host} 上没有名为“{words}”的模型</translation>
    </message>
    <message>
        <source>Fewer words find more: a name and a size, such as “qwen3 4b”. Words are looked for in the names of repositories.</source>
        <translation>关键词越少，找到的越多：名称加大小，例如“qwen3 4b”。关键词在仓库名中查找。</translation>
    </message>
    <message>
        <source>Repository</source>
        <translation>仓库</translation>
    </message>
    <message>
        <source>Downloads</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Likes</source>
        <translation>喜欢</translation>
    </message>
    <message>
        <source>Licence</source>
        <translation>许可证</translation>
    </message>
    <message>
        <source>Updated</source>
        <translation>更新</translation>
    </message>
    <message>
        <source>{licence}, gated</source>
        <translation>{licence}，受限</translation>
    </message>
</context>
<context>
    <name>ResumeCard</name>
    <message>
        <source>This conversion was interrupted</source>
        <translation>这次转换被中断了</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Start over</source>
        <translation>重新开始</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>{done} of {total} parts are on the disk, converted to: {grid}. Resuming makes only the others; the result is the same to the byte.</source>
        <translation>磁盘上已有 {total} 个部分中的 {done} 个，转换格式：{grid}。继续只会完成其余部分；结果逐字节相同。</translation>
    </message>
</context>
<context>
    <name>RowTable</name>
    <message>
        <source>Columns</source>
        <translation>列</translation>
    </message>
    <message>
        <source>Rows</source>
        <translation>行</translation>
    </message>
</context>
<context>
    <name>SamplingPanel</name>
    <message>
        <source>With {name} only</source>
        <translation>仅用于 {name}</translation>
    </message>
    <message>
        <source>Forget what is kept for {name}</source>
        <translation>忘记为 {name} 保存的设置</translation>
    </message>
    <message>
        <source>off</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>温度</translation>
    </message>
    <message>
        <source>0 always takes the likeliest token.</source>
        <translation>0 表示总是取最可能的 token。</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Keep the likeliest tokens up to this sum.</source>
        <translation>保留累计概率达到此值的最可能 token。</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Keep this many of the likeliest tokens.</source>
        <translation>保留这么多个最可能的 token。</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Drop tokens less likely than this part of the likeliest.</source>
        <translation>去掉概率低于最可能者此比例的 token。</translation>
    </message>
    <message>
        <source>Longest reply (tokens)</source>
        <translation>最长回复（token）</translation>
    </message>
    <message>
        <source>Where a reply is cut off; without a limit it may fill the context.</source>
        <translation>回复在此截断；不设上限时可能占满上下文。</translation>
    </message>
    <message>
        <source>no limit</source>
        <translation>不限</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>重复惩罚</translation>
    </message>
    <message>
        <source>Above 1 avoids tokens already seen.</source>
        <translation>大于 1 会避开已出现的 token。</translation>
    </message>
    <message>
        <source>Presence penalty</source>
        <translation>存在惩罚</translation>
    </message>
    <message>
        <source>Above 0 favours new tokens.</source>
        <translation>大于 0 会偏向新的 token。</translation>
    </message>
    <message>
        <source>Frequency penalty</source>
        <translation>频率惩罚</translation>
    </message>
    <message>
        <source>Above 0 avoids frequent tokens.</source>
        <translation>大于 0 会避开频繁出现的 token。</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系统提示词</translation>
    </message>
    <message>
        <source>How the model should behave, for this conversation</source>
        <translation>模型在这个对话中应如何表现</translation>
    </message>
    <message>
        <source>fresh each time</source>
        <translation>每次随机</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>种子</translation>
    </message>
    <message>
        <source>separated by commas</source>
        <translation>用逗号分隔</translation>
    </message>
    <message>
        <source>Stop texts</source>
        <translation>停止文本</translation>
    </message>
    <message>
        <source>Reset sampling</source>
        <translation>重置采样</translation>
    </message>
    <message>
        <source>Use for new chats</source>
        <translation>用于新对话</translation>
    </message>
    <message>
        <source>Sampling</source>
        <translation>采样</translation>
    </message>
    <message>
        <source>Penalties, seed, stop</source>
        <translation>惩罚、种子、停止</translation>
    </message>
    <message>
        <source>With every model</source>
        <translation>用于所有模型</translation>
    </message>
</context>
<context>
    <name>SavedLabel</name>
    <message>
        <source>The report was saved as {markdown} and {json}.</source>
        <translation>报告已保存为 {markdown} 和 {json}。</translation>
    </message>
    <message>
        <source>Saved as {path}.</source>
        <translation>已保存为 {path}。</translation>
    </message>
</context>
<context>
    <name>SecretField</name>
    <message>
        <source>Show the key</source>
        <translation>显示密钥</translation>
    </message>
    <message>
        <source>Copy the key</source>
        <translation>复制密钥</translation>
    </message>
    <message>
        <source>Hide the key</source>
        <translation>隐藏密钥</translation>
    </message>
</context>
<context>
    <name>Sentence</name>
    <message>
        <source>{name} is no text in an encoding that is known.</source>
        <translation>无法识别 {name} 的文本编码。</translation>
    </message>
    <message>
        <source>{name} has {size}; files of up to {most} can be attached.</source>
        <translation>{name} 大小为 {size}；附件最大 {most}。</translation>
    </message>
    <message>
        <source>{name} holds no text.</source>
        <translation>{name} 中没有文本。</translation>
    </message>
    <message>
        <source>{name} holds more text than any model can read.</source>
        <translation>{name} 的文本太长，没有模型读得完。</translation>
    </message>
    <message>
        <source>{name} is no text file.</source>
        <translation>{name} 不是文本文件。</translation>
    </message>
    <message>
        <source>{name} holds no text, only pictures of it.</source>
        <translation>{name} 中没有文本，只有文字的图片。</translation>
    </message>
    <message>
        <source>{name} cannot be read as a PDF: {error}.</source>
        <translation>无法作为 PDF 读取 {name}：{error}。</translation>
    </message>
    <message>
        <source>{path} was written by a newer version of this program: its conversations can be read here, new messages cannot be saved.</source>
        <translation>{path} 由本程序的较新版本写入：其中的对话可以阅读，但无法保存新消息。</translation>
    </message>
    <message>
        <source>{path} is damaged ({reason}). It was kept as {aside}; a new one was begun.</source>
        <translation>{path} 已损坏（{reason}）。它已保留为 {aside}，并新建了一个。</translation>
    </message>
    <message>
        <source>{path} cannot be used ({reason}): conversations of this session will not be saved.</source>
        <translation>无法使用 {path}（{reason}）：本次的对话不会保存。</translation>
    </message>
    <message>
        <source>nobody can speak as {value!r}</source>
        <translation>没有 {value!r} 这种发言者</translation>
    </message>
    <message>
        <source>This file holds no conversations: {reason}.</source>
        <translation>此文件中没有对话：{reason}。</translation>
    </message>
    <message>
        <source>turn {turn_id!r} follows one that does not come before it</source>
        <translation>轮次 {turn_id!r} 接在一个并不在它之前的轮次后面</translation>
    </message>
    <message>
        <source>there are two turns {turn_id!r}</source>
        <translation>有两个轮次 {turn_id!r}</translation>
    </message>
    <message>
        <source>it is neither an export of DeepInfer nor a list of messages</source>
        <translation>它既不是 DeepInfer 的导出文件，也不是消息列表</translation>
    </message>
    <message>
        <source>a newer version of DeepInfer wrote it</source>
        <translation>它由较新版本的 DeepInfer 写入</translation>
    </message>
    <message>
        <source>{error} is missing</source>
        <translation>缺少 {error}</translation>
    </message>
    <message>
        <source>This conversation does not exist any more.</source>
        <translation>这个对话已不存在。</translation>
    </message>
    <message>
        <source>The conversations could not be read or saved: {error}.</source>
        <translation>无法读取或保存对话：{error}。</translation>
    </message>
    <message>
        <source>{path} is not {words}.</source>
        <translation>{path} 不是{words}。</translation>
    </message>
    <message>
        <source>{file_name} is not a JSON object.</source>
        <translation>{file_name} 不是 JSON 对象。</translation>
    </message>
    <message>
        <source>a text</source>
        <translation>文本</translation>
    </message>
    <message>
        <source>a whole number</source>
        <translation>整数</translation>
    </message>
    <message>
        <source>a pair of positive whole numbers</source>
        <translation>一对正整数</translation>
    </message>
    <message>
        <source>{path} is missing.</source>
        <translation>缺少 {path}。</translation>
    </message>
    <message>
        <source>{file_name} is not sound JSON.</source>
        <translation>{file_name} 不是有效的 JSON。</translation>
    </message>
    <message>
        <source>a finite number</source>
        <translation>有限的数</translation>
    </message>
    <message>
        <source>{path} {value!r} is not known.</source>
        <translation>不认识 {path} {value!r}。</translation>
    </message>
    <message>
        <source>an object</source>
        <translation>对象</translation>
    </message>
    <message>
        <source>{name}: array {array} does not belong to its scheme.</source>
        <translation>{name}：数组 {array} 不属于它的方案。</translation>
    </message>
    <message>
        <source>{name} has shape {shape}, its record needs {wanted}.</source>
        <translation>{name} 的形状是 {shape}，而它的记录要求 {wanted}。</translation>
    </message>
    <message>
        <source>{name} has dtype {dtype}, its record needs {wanted}.</source>
        <translation>{name} 的数据类型是 {dtype}，而它的记录要求 {wanted}。</translation>
    </message>
    <message>
        <source>{name}.perm is not a permutation of the input columns.</source>
        <translation>{name}.perm 不是输入列的一个排列。</translation>
    </message>
    <message>
        <source>{name}.{array} holds a value that is not finite.</source>
        <translation>{name}.{array} 含有非有限的值。</translation>
    </message>
    <message>
        <source>{name}: array {array} is missing.</source>
        <translation>{name}：缺少数组 {array}。</translation>
    </message>
    <message>
        <source>{manifest} lists {name!r}, which is not a plain file name.</source>
        <translation>{manifest} 列出了 {name!r}，它不是普通的文件名。</translation>
    </message>
    <message>
        <source>{where}.dtype {dtype!r} is not known.</source>
        <translation>不认识 {where}.dtype {dtype!r}。</translation>
    </message>
    <message>
        <source>{where}: {fault}</source>
        <translation>{where}：{fault}</translation>
    </message>
    <message>
        <source>{manifest} has version {version}; this program reads version {own_version}.</source>
        <translation>{manifest} 的版本是 {version}；本程序读取版本 {own_version}。</translation>
    </message>
    <message>
        <source>{manifest} is made for backend {backend!r}, not for {own_backend!r}.</source>
        <translation>{manifest} 用于后端 {backend!r}，而不是 {own_backend!r}。</translation>
    </message>
    <message>
        <source>{name} is not a native checkpoint: no {manifest}.</source>
        <translation>{name} 不是本地检查点：没有 {manifest}。</translation>
    </message>
    <message>
        <source>{manifest} cannot be read.</source>
        <translation>无法读取 {manifest}。</translation>
    </message>
    <message>
        <source>{name} has {num_bytes} bytes instead of {expected}.</source>
        <translation>{name} 有 {num_bytes} 字节，应为 {expected} 字节。</translation>
    </message>
    <message>
        <source>{manifest} does not list config.json.</source>
        <translation>{manifest} 没有列出 config.json。</translation>
    </message>
    <message>
        <source>The checkpoint has no linear {name}.</source>
        <translation>检查点中没有线性层 {name}。</translation>
    </message>
    <message>
        <source>The checkpoint has no vector {name}.</source>
        <translation>检查点中没有向量 {name}。</translation>
    </message>
    <message>
        <source>{manifest} records {name}, which no file holds.</source>
        <translation>{manifest} 记录了 {name}，但没有文件包含它。</translation>
    </message>
    <message>
        <source>{name}.weight is {dtype}, not {wanted}.</source>
        <translation>{name}.weight 是 {dtype}，而不是 {wanted}。</translation>
    </message>
    <message>
        <source>{name} is stored but {manifest} has no record of it.</source>
        <translation>存有 {name}，但 {manifest} 没有它的记录。</translation>
    </message>
    <message>
        <source>{name}: {tensor} is not an array of floats.</source>
        <translation>{name}：{tensor} 不是浮点数组。</translation>
    </message>
    <message>
        <source>{name} is missing.</source>
        <translation>缺少 {name}。</translation>
    </message>
    <message>
        <source>{name} cannot be read.</source>
        <translation>无法读取 {name}。</translation>
    </message>
    <message>
        <source>{file_name}: {tensor} stands in two files.</source>
        <translation>{file_name}：{tensor} 出现在两个文件中。</translation>
    </message>
    <message>
        <source>{bits} bits are not a native width; native are 3, 4 and 8.</source>
        <translation>{bits} 位不是本地位宽；本地位宽为 3、4 和 8。</translation>
    </message>
    <message>
        <source>{group_size} is not a native group size.</source>
        <translation>{group_size} 不是本地分组大小。</translation>
    </message>
    <message>
        <source>Two-level scales need a group size of 16, 32, 64 or 128.</source>
        <translation>两级缩放系数要求分组大小为 16、32、64 或 128。</translation>
    </message>
    <message>
        <source>{name} has {num_bytes} bytes, its shape needs {expected}.</source>
        <translation>{name} 有 {num_bytes} 字节，而它的形状需要 {expected} 字节。</translation>
    </message>
    <message>
        <source>{name} cannot be opened.</source>
        <translation>无法打开 {name}。</translation>
    </message>
    <message>
        <source>{name} holds tensors of the type {dtype}, which is not supported.</source>
        <translation>{name} 含有类型为 {dtype} 的张量，不支持这种类型。</translation>
    </message>
    <message>
        <source>{name} is not a sound safetensors file.</source>
        <translation>{name} 不是完好的 safetensors 文件。</translation>
    </message>
    <message>
        <source>{name} is damaged: its sha256 is not the manifest&apos;s.</source>
        <translation>{name} 已损坏：它的 sha256 与清单不符。</translation>
    </message>
    <message>
        <source>{name} is stored as {origin}, which its arrays are not.</source>
        <translation>{name} 存储为 {origin}，但它的数组并非如此。</translation>
    </message>
    <message>
        <source>{name} is not an array of finite float32, float16 or bfloat16 numbers.</source>
        <translation>{name} 不是由有限的 float32、float16 或 bfloat16 数组成的数组。</translation>
    </message>
    <message>
        <source>{name!r} cannot be a file of a checkpoint.</source>
        <translation>{name!r} 不能作为检查点的文件。</translation>
    </message>
    <message>
        <source>{call} was called while the checkpoint writer was {state}.</source>
        <translation>在检查点写入器处于 {state} 状态时调用了 {call}。</translation>
    </message>
    <message>
        <source>{name} does not belong in {stem}.safetensors.</source>
        <translation>{name} 不属于 {stem}.safetensors。</translation>
    </message>
    <message>
        <source>The checkpoint cannot be finished while a part is being written.</source>
        <translation>正在写入一个部分时，无法完成检查点。</translation>
    </message>
    <message>
        <source>The checkpoint cannot be finished without config.json.</source>
        <translation>没有 config.json，无法完成检查点。</translation>
    </message>
    <message>
        <source>Writing {name}</source>
        <translation>写入 {name}</translation>
    </message>
    <message>
        <source>{name} was written twice.</source>
        <translation>{name} 被写入了两次。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({code}).</source>
        <translation>引擎意外停止（{code}）。</translation>
    </message>
    <message>
        <source>it could not be started</source>
        <translation>它未能启动</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({code}). The reply so far is saved.</source>
        <translation>引擎意外停止（{code}）。到目前为止的回复已保存。</translation>
    </message>
    <message>
        <source>{name} is too large for an export of conversations.</source>
        <translation>{name} 太大，不可能是对话的导出文件。</translation>
    </message>
    <message>
        <source>{name} holds no text in UTF-8.</source>
        <translation>{name} 中没有 UTF-8 文本。</translation>
    </message>
    <message>
        <source>The conversion process ended unexpectedly, perhaps because memory ran out; nothing was added to the library.</source>
        <translation>转换进程意外结束，可能是因为内存不足；没有向模型库添加任何内容。</translation>
    </message>
    <message>
        <source>{name} is in the library already.</source>
        <translation>{name} 已在模型库中。</translation>
    </message>
    <message>
        <source>Something went wrong inside the program; it goes on running.</source>
        <translation>程序内部出了问题；程序会继续运行。</translation>
    </message>
    <message>
        <source>The process that looks after the library ended unexpectedly.</source>
        <translation>管理模型库的进程意外结束。</translation>
    </message>
    <message>
        <source>The download process ended unexpectedly; what has arrived is kept.</source>
        <translation>下载进程意外结束；已下载的部分会保留。</translation>
    </message>
    <message>
        <source>the files</source>
        <translation>这些文件</translation>
    </message>
    <message>
        <source>the queue before it</source>
        <translation>排在前面的下载</translation>
    </message>
    <message>
        <source>the conversion</source>
        <translation>转换</translation>
    </message>
    <message>
        <source>The process that asks the hub ended unexpectedly.</source>
        <translation>询问服务器的进程意外结束。</translation>
    </message>
    <message>
        <source>The engine&apos;s process has ended.</source>
        <translation>引擎的进程已结束。</translation>
    </message>
    <message>
        <source>Other machines may only come in with a key; set one first.</source>
        <translation>其他机器只能凭密钥访问；请先设置密钥。</translation>
    </message>
    <message>
        <source>The engine stopped twice within a minute (exit code {code}); the port is closed.</source>
        <translation>引擎在一分钟内停止了两次（退出代码 {code}）；端口已关闭。</translation>
    </message>
    <message>
        <source>The validation process ended unexpectedly, perhaps because memory ran out.</source>
        <translation>检查进程意外结束，可能是因为内存不足。</translation>
    </message>
    <message>
        <source>The budget of {limit_bytes:,} bytes cannot be met: with 3 bits wherever they are tolerable, weights take {weights_bytes:,} and the workspace {workspace_bytes:,}.</source>
        <translation>无法满足 {limit_bytes:,} 字节的预算：即使凡能容忍之处都用 3 位，权重也要 {weights_bytes:,} 字节，工作区要 {workspace_bytes:,} 字节。</translation>
    </message>
    <message>
        <source>{grid!r} cannot be compared with; choose from {known}.</source>
        <translation>不能与 {grid!r} 比较；请从 {known} 中选择。</translation>
    </message>
    <message>
        <source>{architecture} cannot be exported: only families whose tensors are named as Llama&apos;s can.</source>
        <translation>无法导出 {architecture}：只能导出张量名称与 Llama 相同的系列。</translation>
    </message>
    <message>
        <source>{output} exists already; choose a new folder.</source>
        <translation>{output} 已存在；请选择新的文件夹。</translation>
    </message>
    <message>
        <source>{output} contains the model.</source>
        <translation>{output} 包含该模型。</translation>
    </message>
    <message>
        <source>{folder} is in the way.</source>
        <translation>{folder} 挡住了去路。</translation>
    </message>
    <message>
        <source>{name} cannot be exported as {format}: {why}; convert it with --grid w4 or w8 first.</source>
        <translation>无法把 {name} 导出为 {format}：{why}；请先用 --grid w4 或 w8 转换。</translation>
    </message>
    <message>
        <source>engines fuse them with such</source>
        <translation>引擎会把它们与这样的层融合</translation>
    </message>
    <message>
        <source>engines load embeddings and lm_head unquantized</source>
        <translation>引擎加载未量化的嵌入层和 lm_head</translation>
    </message>
    <message>
        <source>no grid of {format} is {scheme} with {scale_dtype} scales</source>
        <translation>{format} 没有缩放系数为 {scale_dtype} 的 {scheme} 格式</translation>
    </message>
    <message>
        <source>engines load no {bits} bits from {format}</source>
        <translation>引擎不能从 {format} 加载 {bits} 位</translation>
    </message>
    <message>
        <source>{format} knows no columns out of order; gptq does</source>
        <translation>{format} 不支持乱序的列；gptq 支持</translation>
    </message>
    <message>
        <source>a zero point lies beyond the bits</source>
        <translation>有一个零点超出了位数</translation>
    </message>
    <message>
        <source>engines have no groups of {group_size}</source>
        <translation>引擎没有 {group_size} 的分组</translation>
    </message>
    <message>
        <source>the last group is short</source>
        <translation>最后一组不完整</translation>
    </message>
    <message>
        <source>the sizes do not fill words of 32 bits</source>
        <translation>这些尺寸填不满 32 位字</translation>
    </message>
    <message>
        <source>none of its layers is quantized</source>
        <translation>它的层都没有量化</translation>
    </message>
    <message>
        <source>{dtype} does not hold all scales</source>
        <translation>{dtype} 容纳不下所有缩放系数</translation>
    </message>
    <message>
        <source>1 quantized linear is</source>
        <translation>1 个量化的线性层</translation>
    </message>
    <message>
        <source>{count} quantized linears are</source>
        <translation>{count} 个量化的线性层</translation>
    </message>
    <message>
        <source>{subject} written as {dtype}: {reason}.</source>
        <translation>{subject}写为 {dtype}：{reason}。</translation>
    </message>
    <message>
        <source>{file_name}: it has {num_tokens} tokens, but embeddings for {vocab_size}.</source>
        <translation>{file_name}：它有 {num_tokens} 个 token，却有 {vocab_size} 个嵌入。</translation>
    </message>
    <message>
        <source>{file_name}: its chat template is not text.</source>
        <translation>{file_name}：它的聊天模板不是文本。</translation>
    </message>
    <message>
        <source>{file_name}: its tokenizer data is inconsistent.</source>
        <translation>{file_name}：它的分词器数据前后矛盾。</translation>
    </message>
    <message>
        <source>pass --tokenizer DIR with the tokenizer files of the original model</source>
        <translation>用 --tokenizer DIR 指定原模型的分词器文件</translation>
    </message>
    <message>
        <source>{file_name}: it does not name its pre-tokenizer (files made before May 2024 split text wrongly); download a newer file, or {hint}.</source>
        <translation>{file_name}：它没有注明预分词器（2024 年 5 月之前制作的文件会错误地切分文本）；请下载较新的文件，或{hint}。</translation>
    </message>
    <message>
        <source>{file_name}: the pre-tokenizer {name} is not supported; {hint}.</source>
        <translation>{file_name}：不支持预分词器 {name}；请{hint}。</translation>
    </message>
    <message>
        <source>{file_name}: its tokenizer is of the kind {kind}, and only gpt2 and llama are supported; {hint}.</source>
        <translation>{file_name}：它的分词器类型是 {kind}，只支持 gpt2 和 llama；请{hint}。</translation>
    </message>
    <message>
        <source>{file_name}: its tokenizer has no {prefix}{name} list.</source>
        <translation>{file_name}：它的分词器没有 {prefix}{name} 列表。</translation>
    </message>
    <message>
        <source>{file_name}: {prefix}{name} holds something that is not text.</source>
        <translation>{file_name}：{prefix}{name} 含有非文本的内容。</translation>
    </message>
    <message>
        <source>{file_name}: {prefix}{name} does not hold one number for each of {count} tokens.</source>
        <translation>{file_name}：{prefix}{name} 没有为 {count} 个 token 各提供一个数。</translation>
    </message>
    <message>
        <source>{file_name}: its tokenizer has no tokens, or two tokens with the same text.</source>
        <translation>{file_name}：它的分词器没有 token，或有两个文本相同的 token。</translation>
    </message>
    <message>
        <source>{file_name}: {prefix}{name} is not a boolean.</source>
        <translation>{file_name}：{prefix}{name} 不是布尔值。</translation>
    </message>
    <message>
        <source>{file_name}: the merge {pair} is not in its vocabulary.</source>
        <translation>{file_name}：合并项 {pair} 不在它的词表中。</translation>
    </message>
    <message>
        <source>Group size {group_size} is not offered; choose 32, 64 or 128.</source>
        <translation>不提供分组大小 {group_size}；请选择 32、64 或 128。</translation>
    </message>
    <message>
        <source>no native scheme holds {source_type}</source>
        <translation>没有本地方案能容纳 {source_type}</translation>
    </message>
    <message>
        <source>embeddings and lm_head keep 8 bits</source>
        <translation>嵌入层和 lm_head 保持 8 位</translation>
    </message>
    <message>
        <source>{num_columns} columns are not a multiple of {group_size}</source>
        <translation>{num_columns} 列不是 {group_size} 的倍数</translation>
    </message>
    <message>
        <source>{source_name} would lose {rel_err:.1%} even at 8 bits; use the grid exact or dense, or accept the loss with --allow-lossy.</source>
        <translation>{source_name} 即使用 8 位也会损失 {rel_err:.1%}；请使用 exact 或 dense 格式，或用 --allow-lossy 接受损失。</translation>
    </message>
    <message>
        <source>dense was asked for</source>
        <translation>已要求稠密</translation>
    </message>
    <message>
        <source>what chooses experts stays dense</source>
        <translation>选择专家的部分保持稠密</translation>
    </message>
    <message>
        <source>what decays the state of a head stays dense</source>
        <translation>使注意力头状态衰减的部分保持稠密</translation>
    </message>
    <message>
        <source>{source_type} is {label}</source>
        <translation>{source_type} 就是 {label}</translation>
    </message>
    <message>
        <source>{source_type} stays as it is</source>
        <translation>{source_type} 保持原样</translation>
    </message>
    <message>
        <source>{source_type} is on this grid already</source>
        <translation>{source_type} 已是这种格式</translation>
    </message>
    <message>
        <source>asked for</source>
        <translation>按要求</translation>
    </message>
    <message>
        <source>no group size divides its columns</source>
        <translation>没有分组大小能整除它的列数</translation>
    </message>
    <message>
        <source>{output} is the source itself or a folder that contains it.</source>
        <translation>{output} 就是来源本身，或是包含它的文件夹。</translation>
    </message>
    <message>
        <source>{output} exists and is not a folder.</source>
        <translation>{output} 已存在，且不是文件夹。</translation>
    </message>
    <message>
        <source>{output} is not empty and not a native checkpoint.</source>
        <translation>{output} 不为空，也不是本地检查点。</translation>
    </message>
    <message>
        <source>{output} exists already; --overwrite replaces it.</source>
        <translation>{output} 已存在；用 --overwrite 可替换它。</translation>
    </message>
    <message>
        <source>Not enough disk space for {output}: {needed} needed, {free} free.</source>
        <translation>{output} 的磁盘空间不足：需要 {needed}，剩余 {free}。</translation>
    </message>
    <message>
        <source>being converted</source>
        <translation>被转换</translation>
    </message>
    <message>
        <source>{checkpoint} was not made of {source}.</source>
        <translation>{checkpoint} 不是由 {source} 转换而来的。</translation>
    </message>
    <message>
        <source>Not evaluated: {reason}</source>
        <translation>未评估：{reason}</translation>
    </message>
    <message>
        <source>Budget {limit_bytes:,} bytes: weights {weights_bytes:,}, workspace {workspace_bytes:,}; linears: {bits}. The KV cache comes on top; an embedding that is not the lm_head too counts as weights, but takes no memory of a card.</source>
        <translation>预算 {limit_bytes:,} 字节：权重 {weights_bytes:,}，工作区 {workspace_bytes:,}；线性层：{bits}。KV 缓存另计；不兼作 lm_head 的嵌入层算作权重，但不占用显存。</translation>
    </message>
    <message>
        <source>The grid w3w4 and --vram-budget need each other.</source>
        <translation>格式 w3w4 与 --vram-budget 必须一起使用。</translation>
    </message>
    <message>
        <source>Not on this grid, because it would cost most there: {kept}.</source>
        <translation>以下各项未采用这种格式，因为它们在此损失最大：{kept}。</translation>
    </message>
    <message>
        <source>The grid {grid!r} is not known; known are {known}.</source>
        <translation>不认识格式 {grid!r}；可用的有 {known}。</translation>
    </message>
    <message>
        <source>{count} at {bits} bits</source>
        <translation>{count} 个用 {bits} 位</translation>
    </message>
    <message>
        <source>layer {number}</source>
        <translation>第 {number} 层</translation>
    </message>
    <message>
        <source>Largest relative error: {rel_err:.3g} ({tensor}).</source>
        <translation>最大相对误差：{rel_err:.3g}（{tensor}）。</translation>
    </message>
    <message>
        <source>Lossless: every tensor decodes bit for bit to what the source decodes to.</source>
        <translation>无损：每个张量解码后都与来源逐位相同。</translation>
    </message>
    <message>
        <source>Stored at more bits than asked for, where fewer cost more than {limit_3:.0%} at 3 bits or {limit_4:.0%} at 4 bits: {grown}.</source>
        <translation>以下各项存储的位数高于要求，因为位数更少时，3 位的损失超过 {limit_3:.0%} 或 4 位的损失超过 {limit_4:.0%}：{grown}。</translation>
    </message>
    <message>
        <source>gate_proj and up_proj</source>
        <translation>gate_proj 和 up_proj</translation>
    </message>
    <message>
        <source>In {num_mlps} MLPs the rows of {feeding} stand in the column order of down_proj (act-order); they compute the same function.</source>
        <translation>在 {num_mlps} 个 MLP 中，{feeding} 的行按 down_proj 的列顺序（act-order）排列；它们计算的函数相同。</translation>
    </message>
    <message>
        <source>{name} holds weights that are not finite or absurdly large.</source>
        <translation>{name} 含有非有限或大得离谱的权重。</translation>
    </message>
    <message>
        <source>{name}: AutoRound&apos;s layout {layout} is not supported.</source>
        <translation>{name}：不支持 AutoRound 的布局 {layout}。</translation>
    </message>
    <message>
        <source>{name}: AutoRound&apos;s data type {data_type} is not supported.</source>
        <translation>{name}：不支持 AutoRound 的数据类型 {data_type}。</translation>
    </message>
    <message>
        <source>{name}: AutoRound with {act_bits}-bit inputs is not supported.</source>
        <translation>{name}：不支持输入为 {act_bits} 位的 AutoRound。</translation>
    </message>
    <message>
        <source>{name}: AutoRound with rotation is not supported.</source>
        <translation>{name}：不支持带旋转的 AutoRound。</translation>
    </message>
    <message>
        <source>{where} has an `extra_config` that is not one of objects.</source>
        <translation>{where} 的 `extra_config` 不是由对象组成的对象。</translation>
    </message>
    <message>
        <source>{name}: the shapes of its quantized tensors are those of no AWQ layout with groups of {group_size}.</source>
        <translation>{name}：它的量化张量的形状不符合分组大小为 {group_size} 的任何 AWQ 布局。</translation>
    </message>
    <message>
        <source>{name}: {where} says version {version}, but the shapes are those of AWQ&apos;s layout {layout}.</source>
        <translation>{name}：{where} 注明版本 {version}，但形状属于 AWQ 的布局 {layout}。</translation>
    </message>
    <message>
        <source>{name}: AWQ with {bits} bits is not supported.</source>
        <translation>{name}：不支持 {bits} 位的 AWQ。</translation>
    </message>
    <message>
        <source>{name}: {where} has the group size {group_size!r}.</source>
        <translation>{name}：{where} 的分组大小是 {group_size!r}。</translation>
    </message>
    <message>
        <source>{name}: AWQ&apos;s layout {version} is not supported.</source>
        <translation>{name}：不支持 AWQ 的布局 {version}。</translation>
    </message>
    <message>
        <source>{name}: the shapes of its quantized tensors are those of no AWQ layout with groups of {group_size}. They are those of GPTQ.</source>
        <translation>{name}：它的量化张量的形状不符合分组大小为 {group_size} 的任何 AWQ 布局。这些形状属于 GPTQ。</translation>
    </message>
    <message>
        <source>{stem} is {shape}, which AWQ&apos;s layout {name} with groups of {group_size} does not hold.</source>
        <translation>{stem} 是 {shape}，不符合分组大小为 {group_size} 的 AWQ 布局 {name}。</translation>
    </message>
    <message>
        <source>{name}: {array} has the dtype {dtype}.</source>
        <translation>{name}：{array} 的数据类型是 {dtype}。</translation>
    </message>
    <message>
        <source>{name}: {stored} holds a zero.</source>
        <translation>{name}：{stored} 含有零。</translation>
    </message>
    <message>
        <source>{stored}: only the row format of int8 weights is supported.</source>
        <translation>{stored}：只支持按行格式的 int8 权重。</translation>
    </message>
    <message>
        <source>{stored} is {dtype} instead of {wanted}.</source>
        <translation>{stored} 是 {dtype}，应为 {wanted}。</translation>
    </message>
    <message>
        <source>{stored} is not a JSON object.</source>
        <translation>{stored} 不是 JSON 对象。</translation>
    </message>
    <message>
        <source>{stored} has the {key} {value}.</source>
        <translation>{stored} 的 {key} 是 {value}。</translation>
    </message>
    <message>
        <source>{stored} is not the {kind} table.</source>
        <translation>{stored} 不是 {kind} 表。</translation>
    </message>
    <message>
        <source>{stored} says {found_kind} with the shape {found_shape}, but the linear is {kind} with the shape {shape}.</source>
        <translation>{stored} 注明 {found_kind}，形状 {found_shape}，但该线性层是 {kind}，形状 {shape}。</translation>
    </message>
    <message>
        <source>{stored} has the nested_offset {offset}.</source>
        <translation>{stored} 的 nested_offset 是 {offset}。</translation>
    </message>
    <message>
        <source>{stored} is not JSON.</source>
        <translation>{stored} 不是 JSON。</translation>
    </message>
    <message>
        <source>{names} and {more} more</source>
        <translation>{names} 以及另外 {more} 个</translation>
    </message>
    <message>
        <source>missing</source>
        <translation>缺少</translation>
    </message>
    <message>
        <source>unexpected</source>
        <translation>多余</translation>
    </message>
    <message>
        <source>mis-shaped</source>
        <translation>形状不符</translation>
    </message>
    <message>
        <source>{kind} {names}</source>
        <translation>{kind} {names}</translation>
    </message>
    <message>
        <source>{file}: its tensors are not those of {architecture}: {faults}.</source>
        <translation>{file}：它的张量与 {architecture} 不符：{faults}。</translation>
    </message>
    <message>
        <source>{name} {found} instead of {wanted}</source>
        <translation>{name} 是 {found}，应为 {wanted}</translation>
    </message>
    <message>
        <source>{name}: the configuration says {format} {kind}{bits}, but {weight} is {dtype}.</source>
        <translation>{name}：配置注明 {format} {kind}{bits}，但 {weight} 是 {dtype}。</translation>
    </message>
    <message>
        <source>{name}: {stored} has the dtype {dtype}.</source>
        <translation>{name}：{stored} 的数据类型是 {dtype}。</translation>
    </message>
    <message>
        <source>{stem}: integers with the strategy {strategy} are not supported.</source>
        <translation>{stem}：不支持采用 {strategy} 策略的整数。</translation>
    </message>
    <message>
        <source>{stem}: its {columns} columns are not whole groups of {group_size}.</source>
        <translation>{stem}：它的 {columns} 列不能整分为 {group_size} 一组。</translation>
    </message>
    <message>
        <source>{stem}: {bits}-bit codes of {columns} columns take as many words in both layouts, and no version says which it is.</source>
        <translation>{stem}：{columns} 列的 {bits} 位编码在两种布局中占用同样多的字，又没有版本说明是哪一种。</translation>
    </message>
    <message>
        <source>{name}: {stored} says {found}, config.json {shape}.</source>
        <translation>{name}：{stored} 注明 {found}，config.json 注明 {shape}。</translation>
    </message>
    <message>
        <source>{stem} is declared asymmetric, but the program that wrote it dropped its zero points.</source>
        <translation>{stem} 声明为非对称，但写入它的程序丢掉了零点。</translation>
    </message>
    <message>
        <source>{stem} is declared symmetric, but its zero points are not all 0.</source>
        <translation>{stem} 声明为对称，但它的零点并不全为 0。</translation>
    </message>
    <message>
        <source>{stem} is declared as ordered by activation, but has no {name}.</source>
        <translation>{stem} 声明为按激活排序，但没有 {name}。</translation>
    </message>
    <message>
        <source>{name}: weights that are rotated at run time are not supported.</source>
        <translation>{name}：不支持运行时旋转的权重。</translation>
    </message>
    <message>
        <source>{name}: the format {format} is not supported.</source>
        <translation>{name}：不支持格式 {format}。</translation>
    </message>
    <message>
        <source>{where} has no config_groups.</source>
        <translation>{where} 没有 config_groups。</translation>
    </message>
    <message>
        <source>{where} targets {stem} by no group.</source>
        <translation>{where} 没有任何一组指向 {stem}。</translation>
    </message>
    <message>
        <source>{where} has a group without weights.</source>
        <translation>{where} 有一组没有权重。</translation>
    </message>
    <message>
        <source>{name}: the format {label} is not supported.</source>
        <translation>{name}：不支持格式 {label}。</translation>
    </message>
    <message>
        <source>{where} has {bits!r} bits in groups of {group_size!r}.</source>
        <translation>{where} 是 {bits!r} 位，分组大小 {group_size!r}。</translation>
    </message>
    <message>
        <source>{name}: the strategy {strategy} is not supported.</source>
        <translation>{name}：不支持策略 {strategy}。</translation>
    </message>
    <message>
        <source>{where} has the block_structure {block!r}.</source>
        <translation>{where} 的 block_structure 是 {block!r}。</translation>
    </message>
    <message>
        <source>The pattern {pattern!r} is none.</source>
        <translation>{pattern!r} 不是有效的模式。</translation>
    </message>
    <message>
        <source>The source quantizes activations too; here they stay as the executor computes them.</source>
        <translation>来源还量化了激活；这里按执行器的方式计算激活。</translation>
    </message>
    <message>
        <source>The source quantizes its KV cache too; here that is the executor&apos;s choice.</source>
        <translation>来源还量化了 KV 缓存；这里由执行器决定。</translation>
    </message>
    <message>
        <source>{name}: {stored} holds a value that has no {bits} bits.</source>
        <translation>{name}：{stored} 含有超出 {bits} 位的值。</translation>
    </message>
    <message>
        <source>{name}: {stored} is damaged: it holds a value that is not finite.</source>
        <translation>{name}：{stored} 已损坏：它含有非有限的值。</translation>
    </message>
    <message>
        <source>The format {format!r} is not known; known are {formats}.</source>
        <translation>不认识格式 {format!r}；可用的有 {formats}。</translation>
    </message>
    <message>
        <source>{path} does not exist.</source>
        <translation>{path} 不存在。</translation>
    </message>
    <message>
        <source>{name} is in the format {found}, not {format}.</source>
        <translation>{name} 的格式是 {found}，而不是 {format}。</translation>
    </message>
    <message>
        <source>{name} is a native checkpoint already.</source>
        <translation>{name} 已经是本地检查点。</translation>
    </message>
    <message>
        <source>{name} has neither a config.json nor a GGUF file.</source>
        <translation>{name} 中既没有 config.json，也没有 GGUF 文件。</translation>
    </message>
    <message>
        <source>{name} is a folder with several GGUF models; choose a file.</source>
        <translation>{name} 是含有多个 GGUF 模型的文件夹；请选择其中一个文件。</translation>
    </message>
    <message>
        <source>{name}: the file is empty.</source>
        <translation>{name}：文件是空的。</translation>
    </message>
    <message>
        <source>{name} is one file of a model; choose the folder that contains it.</source>
        <translation>{name} 只是模型的一个文件；请选择包含它的文件夹。</translation>
    </message>
    <message>
        <source>{name}: PyTorch pickle files are not supported.</source>
        <translation>{name}：不支持 PyTorch 的 pickle 文件。</translation>
    </message>
    <message>
        <source>{name}: cannot be read ({reason}).</source>
        <translation>{name}：无法读取（{reason}）。</translation>
    </message>
    <message>
        <source>The layers that predict several tokens at once are left out.</source>
        <translation>一次预测多个 token 的层被省略。</translation>
    </message>
    <message>
        <source>{name} does not divide {num_columns} columns.</source>
        <translation>{name} 不能整除 {num_columns} 列。</translation>
    </message>
    <message>
        <source>{name} is not an order of {num_columns} columns.</source>
        <translation>{name} 不是 {num_columns} 列的顺序。</translation>
    </message>
    <message>
        <source>{name}: the file became shorter while it was read.</source>
        <translation>{name}：文件在读取时变短了。</translation>
    </message>
    <message>
        <source>an adapter (LoRA), not a model; merge it into its base model first</source>
        <translation>适配器（LoRA），不是模型；请先把它合并到基础模型中</translation>
    </message>
    <message>
        <source>in the consolidated format of Meta and Mistral; take the Hugging Face files</source>
        <translation>Meta 和 Mistral 的合并格式；请使用 Hugging Face 文件</translation>
    </message>
    <message>
        <source>in HQQ&apos;s own pickle format (qmodel.pt); save it with transformers instead</source>
        <translation>HQQ 自己的 pickle 格式（qmodel.pt）；请改用 transformers 保存</translation>
    </message>
    <message>
        <source>{name} is a draft model for speculative decoding (config.json has {found}).</source>
        <translation>{name} 是用于推测解码的草稿模型（config.json 中有 {found}）。</translation>
    </message>
    <message>
        <source>{name} is {what}.</source>
        <translation>{name} 是{what}。</translation>
    </message>
    <message>
        <source>a folder is in its place</source>
        <translation>该位置上是一个文件夹</translation>
    </message>
    <message>
        <source>it is empty</source>
        <translation>它是空的</translation>
    </message>
    <message>
        <source>only its log is there</source>
        <translation>只剩下它的日志</translation>
    </message>
    <message>
        <source>{name} is no model: models are .gguf files, and folders with a config.json and weights.</source>
        <translation>{name} 不是模型：模型是 .gguf 文件，或带有 config.json 和权重的文件夹。</translation>
    </message>
    <message>
        <source>{name} has weights but no config.json; fetch the rest of the repository, too.</source>
        <translation>{name} 有权重但没有 config.json；请把仓库的其余文件也下载下来。</translation>
    </message>
    <message>
        <source>{name} is neither a file nor a folder.</source>
        <translation>{name} 既不是文件也不是文件夹。</translation>
    </message>
    <message>
        <source>Scales of quantized activations or of the KV cache are left out: both stay floats.</source>
        <translation>量化激活或 KV 缓存的缩放系数被省略：两者都保持浮点。</translation>
    </message>
    <message>
        <source>{name}: {weight} is {dtype}; of FP8, float8_e4m3fn is read.</source>
        <translation>{name}：{weight} 是 {dtype}；FP8 只读取 float8_e4m3fn。</translation>
    </message>
    <message>
        <source>{name}: weight_block_size is {value}, not two whole numbers.</source>
        <translation>{name}：weight_block_size 是 {value}，不是两个整数。</translation>
    </message>
    <message>
        <source>{name}: {weight} is damaged: it holds a weight that is NaN.</source>
        <translation>{name}：{weight} 已损坏：它含有 NaN 权重。</translation>
    </message>
    <message>
        <source>{name}: FP8 with inverse scales is not supported.</source>
        <translation>{name}：不支持缩放系数取倒数的 FP8。</translation>
    </message>
    <message>
        <source>{file}: quantization version {version} is not supported, only {supported}.</source>
        <translation>{file}：不支持量化版本 {version}，只支持 {supported}。</translation>
    </message>
    <message>
        <source>rope_freqs.weight follows no rule that has a name; it is kept as a table.</source>
        <translation>rope_freqs.weight 不符合任何有名称的规则；它作为表保留。</translation>
    </message>
    <message>
        <source>{file}: tensor {tensor!r} has the ggml type {ggml_type}, which is not supported.</source>
        <translation>{file}：张量 {tensor!r} 的 ggml 类型是 {ggml_type}，不支持这种类型。</translation>
    </message>
    <message>
        <source>{name}: tensor {tensor!r} is damaged: it holds a value that is not finite.</source>
        <translation>{name}：张量 {tensor!r} 已损坏：它含有非有限的值。</translation>
    </message>
    <message>
        <source>{name}: this is a piece of a cut file; join the pieces first.</source>
        <translation>{name}：这是被切开的文件的一块；请先把各块合并。</translation>
    </message>
    <message>
        <source>{name}: this is one of {declared} shards, but its name does not end in -00001-of-{declared:05d}.gguf, so the others cannot be found.</source>
        <translation>{name}：这是 {declared} 个分片之一，但文件名不以 -00001-of-{declared:05d}.gguf 结尾，因此找不到其他分片。</translation>
    </message>
    <message>
        <source>{name}: the shard {shard} is missing.</source>
        <translation>{name}：缺少分片 {shard}。</translation>
    </message>
    <message>
        <source>{name}: split.{key} is {found}, the {num_shards} shards here make it {value}.</source>
        <translation>{name}：split.{key} 是 {found}，按这里的 {num_shards} 个分片应为 {value}。</translation>
    </message>
    <message>
        <source>{name}: the tensor {tensor!r} also stands in {other}.</source>
        <translation>{name}：张量 {tensor!r} 也出现在 {other} 中。</translation>
    </message>
    <message>
        <source>{name}: tensor {tensor!r} of type {type} must be a vector of floats.</source>
        <translation>{name}：类型为 {type} 的张量 {tensor!r} 必须是浮点向量。</translation>
    </message>
    <message>
        <source>{name}: tensor {tensor!r} is damaged: states would grow.</source>
        <translation>{name}：张量 {tensor!r} 已损坏：状态会不断增大。</translation>
    </message>
    <message>
        <source>{name}: {where} says GPTQ, but the shapes of its tensors are AWQ&apos;s.</source>
        <translation>{name}：{where} 注明 GPTQ，但张量的形状属于 AWQ。</translation>
    </message>
    <message>
        <source>{name}: GPTQ input embeddings are not supported.</source>
        <translation>{name}：不支持 GPTQ 的输入嵌入层。</translation>
    </message>
    <message>
        <source>{name}: {where} says that {stem} is not quantized, but it is stored as GPTQ.</source>
        <translation>{name}：{where} 注明 {stem} 未量化，但它存储为 GPTQ。</translation>
    </message>
    <message>
        <source>The zero points of {num_linears} linears follow another convention than the layout {label} ({where}); the data was believed.</source>
        <translation>{num_linears} 个线性层的零点采用的约定与布局 {label}（{where}）不同；以数据为准。</translation>
    </message>
    <message>
        <source>{name}: GPTQ in the layout {label} is not supported.</source>
        <translation>{name}：不支持布局为 {label} 的 GPTQ。</translation>
    </message>
    <message>
        <source>{name}: its GPTQ layout is said to be both {given}.</source>
        <translation>{name}：它的 GPTQ 布局同时注明为 {given}。</translation>
    </message>
    <message>
        <source>{name}: GPTQ packed into {words} words is not supported.</source>
        <translation>{name}：不支持打包成 {words} 字的 GPTQ。</translation>
    </message>
    <message>
        <source>{where} gives {bits!r} as the bits, not a number from 2 to 8.</source>
        <translation>{where} 注明位数为 {bits!r}，不是 2 到 8 之间的数。</translation>
    </message>
    <message>
        <source>{where} gives {group_size!r} as the group size.</source>
        <translation>{where} 注明分组大小为 {group_size!r}。</translation>
    </message>
    <message>
        <source>{where} has a `dynamic` that is not a JSON object.</source>
        <translation>{where} 的 `dynamic` 不是 JSON 对象。</translation>
    </message>
    <message>
        <source>{where} holds {pattern!r}, which is not a regular expression.</source>
        <translation>{where} 含有 {pattern!r}，它不是正则表达式。</translation>
    </message>
    <message>
        <source>{name}: GPTQ with {feature} is not supported.</source>
        <translation>{name}：不支持带 {feature} 的 GPTQ。</translation>
    </message>
    <message>
        <source>{stem} holds a zero point of 0 that the layout gptq cannot store; what is in the file has several meanings.</source>
        <translation>{stem} 含有布局 gptq 无法存储的零点 0；文件中的内容有多种解释。</translation>
    </message>
    <message>
        <source>{stem}: {where} says sym {sym} and layout {label}, but its zero points are stored as {span}.</source>
        <translation>{stem}：{where} 注明 sym {sym} 和布局 {label}，但它的零点存储为 {span}。</translation>
    </message>
    <message>
        <source>{low} to {high}</source>
        <translation>{low} 到 {high}</translation>
    </message>
    <message>
        <source>{name}: this is a Git LFS pointer, not the model itself; download the real file.</source>
        <translation>{name}：这是 Git LFS 指针，不是模型本身；请下载真正的文件。</translation>
    </message>
    <message>
        <source>{name} does not hold a JSON object.</source>
        <translation>{name} 不是 JSON 对象。</translation>
    </message>
    <message>
        <source>{name}: {tensor} is not contiguous.</source>
        <translation>{name}：{tensor} 不连续。</translation>
    </message>
    <message>
        <source>{stem}: HQQ with quantized scales or zeros is refused.</source>
        <translation>{stem}：不支持缩放系数或零点经过量化的 HQQ。</translation>
    </message>
    <message>
        <source>{stem}: HQQ with {bits:g} bits, axis {axis} and this packing is not supported.</source>
        <translation>{stem}：不支持 {bits:g} 位、轴 {axis}、采用这种打包方式的 HQQ。</translation>
    </message>
    <message>
        <source>{stem}.shape says {found}, but the linear is {shape}.</source>
        <translation>{stem}.shape 注明 {found}，但该线性层是 {shape}。</translation>
    </message>
    <message>
        <source>{stem}.group_size is {group_size}, which cannot be.</source>
        <translation>{stem}.group_size 是 {group_size}，这不可能。</translation>
    </message>
    <message>
        <source>{codes} is {dtype} instead of {wanted}.</source>
        <translation>{codes} 是 {dtype}，应为 {wanted}。</translation>
    </message>
    <message>
        <source>config.json says {key} {declared}, but {stem} has {value:g}.</source>
        <translation>config.json 注明 {key} {declared}，但 {stem} 是 {value:g}。</translation>
    </message>
    <message>
        <source>config.json: num_hidden_layers is {count:,}, but there are only {num_tensors:,} tensors.</source>
        <translation>config.json：num_hidden_layers 是 {count:,}，但只有 {num_tensors:,} 个张量。</translation>
    </message>
    <message>
        <source>config.json ties lm_head, but a different {head} is stored; it is used.</source>
        <translation>config.json 注明 lm_head 共享权重，但存有另一个 {head}；使用后者。</translation>
    </message>
    <message>
        <source>Only the language model of {name} is converted; it reads text.</source>
        <translation>只转换 {name} 的语言模型；它读取文本。</translation>
    </message>
    <message>
        <source>{keys} and {values}</source>
        <translation>{keys} 和 {values}</translation>
    </message>
    <message>
        <source>{name}: {where} says {method}, but the tensors are {found}.</source>
        <translation>{name}：{where} 注明 {method}，但张量是 {found}。</translation>
    </message>
    <message>
        <source>{name}: the quantization method {method} ({where}) is not supported.</source>
        <translation>{name}：不支持量化方法 {method}（{where}）。</translation>
    </message>
    <message>
        <source>{name}: no configuration says that it is quantized, but it holds {listed} tensors.</source>
        <translation>{name}：没有配置注明它已量化，但它含有 {listed} 张量。</translation>
    </message>
    <message>
        <source>all dense</source>
        <translation>全部稠密</translation>
    </message>
    <message>
        <source>{name}: the MLX mode {mode} is not supported.</source>
        <translation>{name}：不支持 MLX 模式 {mode}。</translation>
    </message>
    <message>
        <source>{weight}: MLX has no {bits} bits in groups of {group}.</source>
        <translation>{weight}：MLX 没有分组大小为 {group} 的 {bits} 位。</translation>
    </message>
    <message>
        <source>{weight}: {mode} means {bits} bits in groups of {group} with uint8 scales, but it has {found_bits} bits in groups of {found_group} with {dtype} scales.</source>
        <translation>{weight}：{mode} 表示 {bits} 位、分组大小 {group}、缩放系数 uint8，但它是 {found_bits} 位、分组大小 {found_group}、缩放系数 {dtype}。</translation>
    </message>
    <message>
        <source>{name}: {stem} is declared with {declared_bits} bits in groups of {declared_group}, but its shapes mean {bits} bits in groups of {group}.</source>
        <translation>{name}：{stem} 声明为 {declared_bits} 位、分组大小 {declared_group}，但它的形状表示 {bits} 位、分组大小 {group}。</translation>
    </message>
    <message>
        <source>{weight} is {dtype} instead of uint32.</source>
        <translation>{weight} 是 {dtype}，应为 uint32。</translation>
    </message>
    <message>
        <source>{name}: the Model Optimizer algorithm {algorithm} ({where}) is not supported.</source>
        <translation>{name}：不支持 Model Optimizer 算法 {algorithm}（{where}）。</translation>
    </message>
    <message>
        <source>{weight} is {dtype} with {scales_dtype} scales; NVFP4 has uint8 with float8_e4m3fn scales.</source>
        <translation>{weight} 是 {dtype}，缩放系数是 {scales_dtype}；NVFP4 应为 uint8，缩放系数为 float8_e4m3fn。</translation>
    </message>
    <message>
        <source>{blocks} is {dtype} for {num_columns} columns; MXFP4 blocks are uint8, for {group} columns each.</source>
        <translation>{blocks} 是 {dtype}，对应 {num_columns} 列；MXFP4 的块是 uint8，每块 {group} 列。</translation>
    </message>
    <message>
        <source>{name} does not put {group_size} columns into every group.</source>
        <translation>{name} 没有在每一组中放入 {group_size} 列。</translation>
    </message>
    <message>
        <source>an archive, not a model; unpack it first</source>
        <translation>压缩包，不是模型；请先解压</translation>
    </message>
    <message>
        <source>a web page, not a model: the link led to a page about the file</source>
        <translation>网页，不是模型：该链接指向的是介绍文件的页面</translation>
    </message>
    <message>
        <source>a PDF, not a model; in the chat it can be attached to a message</source>
        <translation>PDF，不是模型；可在聊天中作为附件随消息发送</translation>
    </message>
    <message>
        <source>{name} is damaged: it is no PyTorch file, or cut off.</source>
        <translation>{name} 已损坏：它不是 PyTorch 文件，或被截断。</translation>
    </message>
    <message>
        <source>{name}: PyTorch files from before version 1.6 are refused.</source>
        <translation>{name}：不支持 1.6 版之前的 PyTorch 文件。</translation>
    </message>
    <message>
        <source>{name}: big-endian PyTorch files are not supported.</source>
        <translation>{name}：不支持大端序的 PyTorch 文件。</translation>
    </message>
    <message>
        <source>{name} is damaged: it has no usable data.pkl.</source>
        <translation>{name} 已损坏：它没有可用的 data.pkl。</translation>
    </message>
    <message>
        <source>{name} is damaged.</source>
        <translation>{name} 已损坏。</translation>
    </message>
    <message>
        <source>{name}: {error}.</source>
        <translation>{name}：{error}。</translation>
    </message>
    <message>
        <source>its pickle is no dictionary of tensors</source>
        <translation>它的 pickle 不是张量的字典</translation>
    </message>
    <message>
        <source>{name}: {tensor} lies beyond its storage.</source>
        <translation>{name}：{tensor} 超出了它的存储区。</translation>
    </message>
    <message>
        <source>{name}: compressed tensors are not supported.</source>
        <translation>{name}：不支持压缩的张量。</translation>
    </message>
    <message>
        <source>{name}: {tensor} is a view of more than a matrix.</source>
        <translation>{name}：{tensor} 是比矩阵维数更高的视图。</translation>
    </message>
    <message>
        <source>its pickle holds {tensor!r}, which is no tensor</source>
        <translation>它的 pickle 含有 {tensor!r}，它不是张量</translation>
    </message>
    <message>
        <source>its pickle asks for {asked}, which is refused</source>
        <translation>它的 pickle 要求 {asked}，不予支持</translation>
    </message>
    <message>
        <source>its pickle refers to something other than a storage</source>
        <translation>它的 pickle 引用了存储区以外的东西</translation>
    </message>
    <message>
        <source>its pickle changes something other than a dictionary</source>
        <translation>它的 pickle 修改了字典以外的东西</translation>
    </message>
    <message>
        <source>its pickle uses the opcode {opcode}, which is refused</source>
        <translation>它的 pickle 使用了操作码 {opcode}，不予支持</translation>
    </message>
    <message>
        <source>its pickle calls something other than a tensor&apos;s constructor</source>
        <translation>它的 pickle 调用了张量构造函数以外的东西</translation>
    </message>
    <message>
        <source>{name}: {where} is not a JSON object.</source>
        <translation>{name}：{where} 不是 JSON 对象。</translation>
    </message>
    <message>
        <source>{stored} is damaged: it holds an absurdly large scale.</source>
        <translation>{stored} 已损坏：它含有大得离谱的缩放系数。</translation>
    </message>
    <message>
        <source>{stored} is {dtype}, which scales never are.</source>
        <translation>{stored} 是 {dtype}，缩放系数不会是这种类型。</translation>
    </message>
    <message>
        <source>{stored} is damaged: it holds a scale that is NaN.</source>
        <translation>{stored} 已损坏：它含有 NaN 缩放系数。</translation>
    </message>
    <message>
        <source>{name}: cannot be read, or became shorter.</source>
        <translation>{name}：无法读取，或文件变短了。</translation>
    </message>
    <message>
        <source>{name} has no tokenizer.json.</source>
        <translation>{name} 没有 tokenizer.json。</translation>
    </message>
    <message>
        <source>{name} cannot be read as text.</source>
        <translation>无法作为文本读取 {name}。</translation>
    </message>
    <message>
        <source>{name} has no weight_map.</source>
        <translation>{name} 没有 weight_map。</translation>
    </message>
    <message>
        <source>{index} names {tensor} in {file}, which does not hold it ({num_lost} such).</source>
        <translation>{index} 注明 {tensor} 在 {file} 中，但该文件中没有它（共 {num_lost} 个）。</translation>
    </message>
    <message>
        <source>{name}: the file {tensor} is missing.</source>
        <translation>{name}：缺少文件 {tensor}。</translation>
    </message>
    <message>
        <source>{name}: {tensor} also stands in {other}.</source>
        <translation>{name}：{tensor} 也出现在 {other} 中。</translation>
    </message>
    <message>
        <source>{name} is in the way and is not a conversion&apos;s working folder.</source>
        <translation>{name} 挡住了去路，它不是转换的工作文件夹。</translation>
    </message>
    <message>
        <source>{name} belongs to another source or other options; repeat it without --resume to start again.</source>
        <translation>{name} 属于另一个来源或其他选项；不加 --resume 再运行一次可重新开始。</translation>
    </message>
    <message>
        <source>No NVIDIA driver found.</source>
        <translation>没有找到 NVIDIA 驱动程序。</translation>
    </message>
    <message>
        <source>The NVIDIA driver finds no card.</source>
        <translation>NVIDIA 驱动程序没有找到显卡。</translation>
    </message>
    <message>
        <source>The NVIDIA driver cannot start (code {code}).</source>
        <translation>NVIDIA 驱动程序无法启动（代码 {code}）。</translation>
    </message>
    <message>
        <source>The NVIDIA driver does not describe its card (code {code}).</source>
        <translation>NVIDIA 驱动程序没有描述它的显卡（代码 {code}）。</translation>
    </message>
    <message>
        <source>{reason} Running on {cpu}.</source>
        <translation>{reason}改在 {cpu} 上运行。</translation>
    </message>
    <message>
        <source>Unknown device {requested!r}: choose one of {devices}.</source>
        <translation>未知设备 {requested!r}：请从 {devices} 中选择。</translation>
    </message>
    <message>
        <source>Running on {card}.</source>
        <translation>在 {card} 上运行。</translation>
    </message>
    <message>
        <source>The {card} is too old: it has compute capability {found}, the cuda kernels need {oldest}.</source>
        <translation>{card} 太旧：它的计算能力是 {found}，cuda 内核需要 {oldest}。</translation>
    </message>
    <message>
        <source>The driver of the {card} is too old: it runs CUDA {found}, the cuda executor needs {oldest}.</source>
        <translation>{card} 的驱动程序太旧：它支持 CUDA {found}，cuda 执行器需要 {oldest}。</translation>
    </message>
    <message>
        <source>The {card} is used through CuPy: {hint}.</source>
        <translation>{card} 需要通过 CuPy 使用：{hint}。</translation>
    </message>
    <message>
        <source>an unknown processor</source>
        <translation>未知的处理器</translation>
    </message>
    <message>
        <source>Chosen by you; running on {cpu}.</source>
        <translation>由你选择；在 {cpu} 上运行。</translation>
    </message>
    <message>
        <source>Internal error: {reason}</source>
        <translation>内部错误：{reason}</translation>
    </message>
    <message>
        <source>this build of the program does not contain {packages}</source>
        <translation>本程序的这个版本不包含{packages}</translation>
    </message>
    <message>
        <source>`python3 dev.py install {extra}` installs {packages}</source>
        <translation>`python3 dev.py install {extra}` 可安装{packages}</translation>
    </message>
    <message>
        <source>this build of the program does not contain {packages}; the full build has it all</source>
        <translation>本程序的这个版本不包含{packages}；完整版包含所有内容</translation>
    </message>
    <message>
        <source>The download needs {needed} ({parts}) and {spare} to spare; {folder} has {free} free.</source>
        <translation>下载需要 {needed}（{parts}），并留出 {spare}；{folder} 剩余 {free}。</translation>
    </message>
    <message>
        <source>{size} for {what}</source>
        <translation>{what} {size}</translation>
    </message>
    <message>
        <source>{first} + {rest}</source>
        <translation>{first} + {rest}</translation>
    </message>
    <message>
        <source>{first}, {rest}</source>
        <translation>{first}、{rest}</translation>
    </message>
    <message>
        <source>{first}; {rest}</source>
        <translation>{first}；{rest}</translation>
    </message>
    <message>
        <source>{first} {rest}</source>
        <translation>{first}{rest}</translation>
    </message>
    <message>
        <source>must be of type {type}, not {value!r}</source>
        <translation>必须是 {type} 类型，而不是 {value!r}</translation>
    </message>
    <message>
        <source>must be one of {choices}, not {value!r}</source>
        <translation>必须是 {choices} 之一，而不是 {value!r}</translation>
    </message>
    <message>
        <source>must be between {least} and {most}, not {value!r}</source>
        <translation>必须在 {least} 和 {most} 之间，而不是 {value!r}</translation>
    </message>
    <message>
        <source>{path} was damaged ({reason}); it is kept as {aside}, defaults are used.</source>
        <translation>{path} 已损坏（{reason}）；它已保留为 {aside}，使用默认值。</translation>
    </message>
    <message>
        <source>{path} was written by a newer version of this program: its settings hold as far as they are known here, changes are not saved.</source>
        <translation>{path} 由本程序的较新版本写入：这里认识的设置有效，更改不会保存。</translation>
    </message>
    <message>
        <source>it holds no JSON object</source>
        <translation>其中没有 JSON 对象</translation>
    </message>
    <message>
        <source>{file}: {name} {problem}; the default is used.</source>
        <translation>{file}：{name} {problem}；使用默认值。</translation>
    </message>
    <message>
        <source>Settings could not be saved: {error}.</source>
        <translation>无法保存设置：{error}。</translation>
    </message>
    <message>
        <source>Permission denied</source>
        <translation>没有权限</translation>
    </message>
    <message>
        <source>Device or resource busy</source>
        <translation>设备或资源正忙</translation>
    </message>
    <message>
        <source>File exists</source>
        <translation>文件已存在</translation>
    </message>
    <message>
        <source>File too large</source>
        <translation>文件太大</translation>
    </message>
    <message>
        <source>Input/output error</source>
        <translation>输入/输出错误</translation>
    </message>
    <message>
        <source>Is a directory</source>
        <translation>这是一个文件夹</translation>
    </message>
    <message>
        <source>Too many open files</source>
        <translation>打开的文件太多</translation>
    </message>
    <message>
        <source>File name too long</source>
        <translation>文件名太长</translation>
    </message>
    <message>
        <source>No such file or directory</source>
        <translation>没有这个文件或文件夹</translation>
    </message>
    <message>
        <source>No space left on device</source>
        <translation>磁盘空间不足</translation>
    </message>
    <message>
        <source>Not a directory</source>
        <translation>不是文件夹</translation>
    </message>
    <message>
        <source>Directory not empty</source>
        <translation>文件夹不为空</translation>
    </message>
    <message>
        <source>Operation not permitted</source>
        <translation>不允许的操作</translation>
    </message>
    <message>
        <source>Read-only file system</source>
        <translation>文件系统是只读的</translation>
    </message>
    <message>
        <source>Invalid cross-device link</source>
        <translation>不能跨设备链接</translation>
    </message>
    <message>
        <source>{repo_id} has no weights that this program reads (safetensors, PyTorch&apos;s .bin or GGUF).</source>
        <translation>{repo_id} 没有本程序能读取的权重（safetensors、PyTorch 的 .bin 或 GGUF）。</translation>
    </message>
    <message>
        <source>{wanted} is one file of a model; `deepinfer pull {repo_id}` fetches all.</source>
        <translation>{wanted} 只是模型的一个文件；`deepinfer pull {repo_id}` 可下载全部。</translation>
    </message>
    <message>
        <source>{wanted!r} names {what} in {repo_id}; it has {names}.</source>
        <translation>{wanted!r} 在 {repo_id} 中对应{what}；它有 {names}。</translation>
    </message>
    <message>
        <source>no GGUF file</source>
        <translation>没有 GGUF 文件</translation>
    </message>
    <message>
        <source>several files</source>
        <translation>多个文件</translation>
    </message>
    <message>
        <source>{text} is not the name of a repository (org/name); `deepinfer search {query}` looks for one.</source>
        <translation>{text} 不是仓库的名称（org/name）；`deepinfer search {query}` 可以查找。</translation>
    </message>
    <message>
        <source>It runs after conversion.</source>
        <translation>转换后可运行。</translation>
    </message>
    <message>
        <source>It runs after conversion. It brings no chat template: it completes text, and a chat needs one.</source>
        <translation>转换后可运行。它没有自带聊天模板：它续写文本，而聊天需要模板。</translation>
    </message>
    <message>
        <source>It runs after conversion. Whether it brings a chat template is not known before the download.</source>
        <translation>转换后可运行。下载之前无法得知它是否自带聊天模板。</translation>
    </message>
    <message>
        <source>Its architecture runs; its sizes are not known yet.</source>
        <translation>它的架构可以运行；大小尚不清楚。</translation>
    </message>
    <message>
        <source>The hub lists a file under the name {path!r}, which is not safe here.</source>
        <translation>服务器列出的文件名 {path!r} 在这里不安全。</translation>
    </message>
    <message>
        <source>{path} is there already, and it is not the file of {repo_id}; choose another folder.</source>
        <translation>{path} 已存在，且不是 {repo_id} 的文件；请选择另一个文件夹。</translation>
    </message>
    <message>
        <source>{folder} was moved or deleted while a file was downloaded into it; begin the download again.</source>
        <translation>文件下载到 {folder} 时，该文件夹被移动或删除；请重新开始下载。</translation>
    </message>
    <message>
        <source>{file} is larger than {limit}, which hubs do not send in one piece; choose a model in shards.</source>
        <translation>{file} 大于 {limit}，服务器不会整块发送这样的文件；请选择分片的模型。</translation>
    </message>
    <message>
        <source>{base} has other bytes under {file}; nothing is taken from there.</source>
        <translation>{base} 上的 {file} 内容不同；不从那里取用任何内容。</translation>
    </message>
    <message>
        <source>{base} does not answer; {other} goes on.</source>
        <translation>{base} 没有回应；由 {other} 继续。</translation>
    </message>
    <message>
        <source>{problem}; what has arrived is kept.</source>
        <translation>{problem}；已下载的部分会保留。</translation>
    </message>
    <message>
        <source>The connection for {file} breaks or stays silent; what has arrived is kept, and the same download goes on from there.</source>
        <translation>{file} 的连接中断或没有响应；已下载的部分会保留，再次下载时从那里继续。</translation>
    </message>
    <message>
        <source>{file} arrived twice with bytes that are not those that the hub lists; the hub&apos;s copy, or something on the way, is damaged.</source>
        <translation>{file} 两次收到的内容都与服务器列出的不符；服务器上的副本或传输途中的某处已损坏。</translation>
    </message>
    <message>
        <source>The disk is full after {done} of {file}</source>
        <translation>写入 {file} 的 {done} 后磁盘已满</translation>
    </message>
    <message>
        <source>The volume takes no file that is larger than {done}, as {file} is</source>
        <translation>该磁盘不接受大于 {done} 的文件，而 {file} 正是如此</translation>
    </message>
    <message>
        <source>Another process downloads the same file already.</source>
        <translation>另一个进程正在下载同一文件。</translation>
    </message>
    <message>
        <source>{file} arrived with wrong bytes; it is fetched once more.</source>
        <translation>收到的 {file} 内容有误；将重新下载一次。</translation>
    </message>
    <message>
        <source>tokenizer_config.json is damaged: its chat template is no text.</source>
        <translation>tokenizer_config.json 已损坏：它的聊天模板不是文本。</translation>
    </message>
    <message>
        <source>The model&apos;s chat template does not show this reply as it is: it cannot go on.</source>
        <translation>该模型的聊天模板不会原样显示这条回复：无法继续写。</translation>
    </message>
    <message>
        <source>The model has no default chat template, only: {known}.</source>
        <translation>该模型没有默认的聊天模板，只有：{known}。</translation>
    </message>
    <message>
        <source>The model&apos;s chat template refused this conversation: {error}</source>
        <translation>该模型的聊天模板拒绝了这个对话：{error}</translation>
    </message>
    <message>
        <source>The model&apos;s chat template cannot be read: {error}</source>
        <translation>无法读取该模型的聊天模板：{error}</translation>
    </message>
    <message>
        <source>The engine was closed.</source>
        <translation>引擎已关闭。</translation>
    </message>
    <message>
        <source>The machine has run out of memory for this reply; the model stays loaded.</source>
        <translation>本机没有足够的内存完成这条回复；模型仍保持加载。</translation>
    </message>
    <message>
        <source>The text is too short: it has fewer than two tokens.</source>
        <translation>文本太短：不到两个 token。</translation>
    </message>
    <message>
        <source>The two models have different vocabularies ({vocab_size} and {other_vocab_size} tokens), so their predictions cannot be compared.</source>
        <translation>两个模型的词表不同（{vocab_size} 和 {other_vocab_size} 个 token），无法比较它们的预测。</translation>
    </message>
    <message>
        <source>The state of slot {slot} has seen an unknown number of tokens.</source>
        <translation>槽位 {slot} 的状态读过的 token 数未知。</translation>
    </message>
    <message>
        <source>an unknown number of</source>
        <translation>数量未知的</translation>
    </message>
    <message>
        <source>A pool without pages holds nothing.</source>
        <translation>没有页的缓存池什么也放不下。</translation>
    </message>
    <message>
        <source>Slot {slot} cannot have {num_pages} pages.</source>
        <translation>槽位 {slot} 不能有 {num_pages} 页。</translation>
    </message>
    <message>
        <source>Slot {slot} cannot have a page twice.</source>
        <translation>槽位 {slot} 不能两次使用同一页。</translation>
    </message>
    <message>
        <source>There is no page {page} in a pool of {num_pages}.</source>
        <translation>{num_pages} 页的缓存池中没有第 {page} 页。</translation>
    </message>
    <message>
        <source>The executor is closed.</source>
        <translation>执行器已关闭。</translation>
    </message>
    <message>
        <source>The machine has run out of memory.</source>
        <translation>本机内存不足。</translation>
    </message>
    <message>
        <source>The cpu executor cannot start: {error}.</source>
        <translation>cpu 执行器无法启动：{error}。</translation>
    </message>
    <message>
        <source>The cpu executor cannot load this model: {error}.</source>
        <translation>cpu 执行器无法加载这个模型：{error}。</translation>
    </message>
    <message>
        <source>The cpu executor failed: {error}.</source>
        <translation>cpu 执行器失败：{error}。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({reason}): defaults are used, changes are not saved.</source>
        <translation>无法读取 {path}（{reason}）：使用默认值，更改不会保存。</translation>
    </message>
    <message>
        <source>{path} is damaged ({reason}) and cannot be set aside ({error}): defaults are used, changes are not saved.</source>
        <translation>{path} 已损坏（{reason}），且无法移到一旁（{error}）：使用默认值，更改不会保存。</translation>
    </message>
    <message>
        <source>The cpu executor runs head_dim up to {most}, not {widest}.</source>
        <translation>cpu 执行器支持的 head_dim 最大为 {most}，而不是 {widest}。</translation>
    </message>
    <message>
        <source>The cuda executor needs CuPy, which is not installed: `python3 dev.py install cuda` installs it.</source>
        <translation>cuda 执行器需要 CuPy，但没有安装：`python3 dev.py install cuda` 可安装它。</translation>
    </message>
    <message>
        <source>No NVIDIA card can be used</source>
        <translation>没有可用的 NVIDIA 显卡</translation>
    </message>
    <message>
        <source>The card cannot say how much memory it has</source>
        <translation>显卡无法告知它有多少显存</translation>
    </message>
    <message>
        <source>The card cannot clear its memory</source>
        <translation>显卡无法清空显存</translation>
    </message>
    <message>
        <source>No {num_bytes:,} bytes of memory can be locked for the card</source>
        <translation>无法为显卡锁定 {num_bytes:,} 字节内存</translation>
    </message>
    <message>
        <source>The card failed</source>
        <translation>显卡出错</translation>
    </message>
    <message>
        <source>The card refuses a kernel</source>
        <translation>显卡拒绝执行内核</translation>
    </message>
    <message>
        <source>The card cannot record its work</source>
        <translation>显卡无法录制它的工作</translation>
    </message>
    <message>
        <source>The card cannot say what it runs at once</source>
        <translation>显卡无法告知它能同时运行多少</translation>
    </message>
    <message>
        <source>The card cannot copy</source>
        <translation>显卡无法复制数据</translation>
    </message>
    <message>
        <source>The card has no room for {num_bytes:,} more bytes</source>
        <translation>显卡没有空间再放 {num_bytes:,} 字节</translation>
    </message>
    <message>
        <source>The kernels cannot be compiled: {error} `python3 dev.py install cuda` installs the compiler.</source>
        <translation>无法编译内核：{error} `python3 dev.py install cuda` 可安装编译器。</translation>
    </message>
    <message>
        <source>The driver refuses the kernel {kernel}</source>
        <translation>驱动程序拒绝内核 {kernel}</translation>
    </message>
    <message>
        <source>{sentence} ({error}).</source>
        <translation>{sentence}（{error}）。</translation>
    </message>
    <message>
        <source>The card does not take its memory back</source>
        <translation>显卡不收回它的显存</translation>
    </message>
    <message>
        <source>The card has too little shared memory for {kernel}</source>
        <translation>显卡的共享内存不足以运行 {kernel}</translation>
    </message>
    <message>
        <source>The cuda executor chooses up to {most_chosen} of {most_experts} experts, from up to {most_chosen} groups; not {num_experts_per_tok} of {num_experts}, from {num_groups}.</source>
        <translation>cuda 执行器最多从 {most_experts} 个专家中选 {most_chosen} 个，最多从 {most_chosen} 组中选；不支持从 {num_experts} 个中选 {num_experts_per_tok} 个、从 {num_groups} 组中选。</translation>
    </message>
    <message>
        <source>The cuda executor runs linear layers with heads of up to {most} columns, not {widest}.</source>
        <translation>cuda 执行器运行线性层时，每个头最多 {most} 列，而不是 {widest}。</translation>
    </message>
    <message>
        <source>The cuda executor runs latent vectors in steps of {latent_step} columns with rotary ones in steps of {rope_step}, not {kv_lora_rank} with {qk_rope_head_dim}.</source>
        <translation>cuda 执行器要求潜在向量的列数是 {latent_step} 的倍数、旋转列数是 {rope_step} 的倍数，而不是 {kv_lora_rank} 和 {qk_rope_head_dim}。</translation>
    </message>
    <message>
        <source>The cuda executor runs latent attention without query_scaling and attention_sinks.</source>
        <translation>cuda 执行器不支持带 query_scaling 和 attention_sinks 的潜在注意力。</translation>
    </message>
    <message>
        <source>The cuda executor runs head_dim up to {most} in steps of 8, not {head_dim}.</source>
        <translation>cuda 执行器支持的 head_dim 最大为 {most}，且是 8 的倍数，而不是 {head_dim}。</translation>
    </message>
    <message>
        <source>The card did not write what it was asked for.</source>
        <translation>显卡没有写出所要求的内容。</translation>
    </message>
    <message>
        <source>{name} holds weights that half precision cannot hold.</source>
        <translation>{name} 含有半精度容纳不下的权重。</translation>
    </message>
    <message>
        <source>The reference executor needs torch, which is not installed: {hint}.</source>
        <translation>参考执行器需要 torch，但没有安装：{hint}。</translation>
    </message>
    <message>
        <source>The {executor} executor does not implement hidden_act {hidden_act!r}.</source>
        <translation>{executor} 执行器不支持 hidden_act {hidden_act!r}。</translation>
    </message>
    <message>
        <source>The {executor} executor does not implement {field}={value!r}.</source>
        <translation>{executor} 执行器不支持 {field}={value!r}。</translation>
    </message>
    <message>
        <source>The card cannot run this architecture yet.</source>
        <translation>显卡还不能运行这种架构。</translation>
    </message>
    <message>
        <source>grammar</source>
        <translation>语法</translation>
    </message>
    <message>
        <source>JSON schema</source>
        <translation>JSON schema</translation>
    </message>
    <message>
        <source>The {subject} is longer than {most:,} characters.</source>
        <translation>{subject} 超过 {most:,} 个字符。</translation>
    </message>
    <message>
        <source>The {subject} cannot be enforced: {error}.</source>
        <translation>无法强制执行该 {subject}：{error}。</translation>
    </message>
    <message>
        <source>The {subject} cannot be read: {error}.</source>
        <translation>无法读取该 {subject}：{error}。</translation>
    </message>
    <message>
        <source>No model is loaded.</source>
        <translation>没有加载模型。</translation>
    </message>
    <message>
        <source>The engine has failed; load a model again. {failure}</source>
        <translation>引擎已失败；请重新加载模型。{failure}</translation>
    </message>
    <message>
        <source>Every KV slot is in use.</source>
        <translation>所有 KV 槽位都在使用中。</translation>
    </message>
    <message>
        <source>{name} has shape {stored}; config.json asks for {wanted}.</source>
        <translation>{name} 的形状是 {stored}；config.json 要求 {wanted}。</translation>
    </message>
    <message>
        <source>{name} has a bias that config.json denies, or lacks one.</source>
        <translation>{name} 有 config.json 否认的偏置，或缺少偏置。</translation>
    </message>
    <message>
        <source>process {pid}</source>
        <translation>进程 {pid}</translation>
    </message>
    <message>
        <source>The request {id} is running already.</source>
        <translation>请求 {id} 已在运行。</translation>
    </message>
    <message>
        <source>There is no tool {name!r} to be called.</source>
        <translation>没有可调用的工具 {name!r}。</translation>
    </message>
    <message>
        <source>How this model writes calls of tools is not known, so that none can be forced, nor stand in place of a reply that is held to a format.</source>
        <translation>不知道这个模型如何书写工具调用，因此无法强制调用，也不能用它代替限定格式的回复。</translation>
    </message>
    <message>
        <source>No tools.</source>
        <translation>没有工具。</translation>
    </message>
    <message>
        <source>This model writes calls as bare JSON: a response_format and tools that it may or may not call cannot both hold for one reply; with tool_choice `none` the format holds.</source>
        <translation>这个模型把调用写成裸 JSON：response_format 与可调用可不调用的工具不能在同一条回复中同时生效；tool_choice 为 `none` 时格式有效。</translation>
    </message>
    <message>
        <source>A sequence has written more tokens than it has pages for.</source>
        <translation>一个序列写入的 token 超出了它的页。</translation>
    </message>
    <message>
        <source>The machine has run out of memory while the model was loaded.</source>
        <translation>加载模型时本机内存不足。</translation>
    </message>
    <message>
        <source>A request needs either messages or a prompt.</source>
        <translation>请求需要消息或提示词。</translation>
    </message>
    <message>
        <source>The model has no chat template; give it a raw prompt instead.</source>
        <translation>该模型没有聊天模板；请改为提供原始提示词。</translation>
    </message>
    <message>
        <source>The prompt is empty.</source>
        <translation>提示词为空。</translation>
    </message>
    <message>
        <source>The prompt holds a token that the model has no embedding for.</source>
        <translation>提示词中有模型没有嵌入的 token。</translation>
    </message>
    <message>
        <source>top_k must be 0 (off) or positive, not {top_k!r}.</source>
        <translation>top_k 必须是 0（关闭）或正数，而不是 {top_k!r}。</translation>
    </message>
    <message>
        <source>max_tokens must be at least 1, not {max_tokens!r}.</source>
        <translation>max_tokens 至少为 1，而不是 {max_tokens!r}。</translation>
    </message>
    <message>
        <source>min_tokens must be at least 0, not {min_tokens!r}.</source>
        <translation>min_tokens 至少为 0，而不是 {min_tokens!r}。</translation>
    </message>
    <message>
        <source>Logprobs are given of 0 to {most} tokens, not of {count}.</source>
        <translation>可以给出 0 到 {most} 个 token 的 logprobs，而不是 {count} 个。</translation>
    </message>
    <message>
        <source>{name} must be {bound} {low:g} and at most {high:g}, not {value!r}.</source>
        <translation>{name} 必须{bound} {low:g} 且不超过 {high:g}，而不是 {value!r}。</translation>
    </message>
    <message>
        <source>The reply could not be held to its grammar: {error}.</source>
        <translation>无法让回复遵守语法：{error}。</translation>
    </message>
    <message>
        <source>What the request asks for leaves no token to choose from.</source>
        <translation>按请求的要求，没有 token 可供选择。</translation>
    </message>
    <message>
        <source>The model computed values that are not finite; its checkpoint may be damaged.</source>
        <translation>模型算出了非有限的数值；它的检查点可能已损坏。</translation>
    </message>
    <message>
        <source>logit_bias names token {token_id}, of a vocabulary of {vocab_size}.</source>
        <translation>logit_bias 提到 token {token_id}，但词表只有 {vocab_size} 个。</translation>
    </message>
    <message>
        <source>logit_bias must lie between -100 and 100, not be {value!r}.</source>
        <translation>logit_bias 必须在 -100 和 100 之间，而不是 {value!r}。</translation>
    </message>
    <message>
        <source>at least</source>
        <translation>不小于</translation>
    </message>
    <message>
        <source>greater than</source>
        <translation>大于</translation>
    </message>
    <message>
        <source>The sequence has no KV slot.</source>
        <translation>该序列没有 KV 槽位。</translation>
    </message>
    <message>
        <source>A reply that is held to a grammar ends with it; ignore_eos cannot be.</source>
        <translation>受语法约束的回复随语法结束；不能使用 ignore_eos。</translation>
    </message>
    <message>
        <source>it ran for more than {seconds:g} seconds</source>
        <translation>它运行超过了 {seconds:g} 秒</translation>
    </message>
    <message>
        <source>it makes more than {count:,} characters</source>
        <translation>它生成的字符超过 {count:,} 个</translation>
    </message>
    <message>
        <source>it computes a huge power</source>
        <translation>它计算一个巨大的幂</translation>
    </message>
    <message>
        <source>it formats text to a huge width</source>
        <translation>它把文本格式化成巨大的宽度</translation>
    </message>
    <message>
        <source>The two models split this text into different tokens.</source>
        <translation>两个模型把这段文本切分成不同的 token。</translation>
    </message>
    <message>
        <source>{name} is not UTF-8 text.</source>
        <translation>{name} 不是 UTF-8 文本。</translation>
    </message>
    <message>
        <source>{name} cannot be read: {reason}.</source>
        <translation>无法读取 {name}：{reason}。</translation>
    </message>
    <message>
        <source>The tokenizer&apos;s decoder is not supported: {names}.</source>
        <translation>不支持该分词器的解码器：{names}。</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>{path} is damaged: it holds no JSON object.</source>
        <translation>{path} 已损坏：其中没有 JSON 对象。</translation>
    </message>
    <message>
        <source>{path} cannot be read.</source>
        <translation>无法读取 {path}。</translation>
    </message>
    <message>
        <source>{path} is damaged.</source>
        <translation>{path} 已损坏。</translation>
    </message>
    <message>
        <source>{path} is not a valid tokenizer.</source>
        <translation>{path} 不是有效的分词器。</translation>
    </message>
    <message>
        <source>A conversion to 3 bits (w3, or w3w4 with a budget) takes less; so does a smaller model.</source>
        <translation>转换为 3 位（w3，或带预算的 w3w4）占用更少；换用更小的模型也可以。</translation>
    </message>
    <message>
        <source>With an int8 KV cache it fits.</source>
        <translation>使用 int8 KV 缓存就放得下。</translation>
    </message>
    <message>
        <source>The hub did not say which commit of {repo_id} it lists.</source>
        <translation>服务器没有说明它列出的是 {repo_id} 的哪个提交。</translation>
    </message>
    <message>
        <source>The hub did not say size and digest of {file}.</source>
        <translation>服务器没有说明 {file} 的大小和摘要。</translation>
    </message>
    <message>
        <source>a list of repositories</source>
        <translation>仓库列表</translation>
    </message>
    <message>
        <source>the list of files at {revision}</source>
        <translation>{revision} 的文件列表</translation>
    </message>
    <message>
        <source>{base} does not send parts of files.</source>
        <translation>{base} 不支持分段发送文件。</translation>
    </message>
    <message>
        <source>The list of downloads ({path}) cannot be read ({reason}): changes to it are not saved.</source>
        <translation>无法读取下载列表（{path}）（{reason}）：对它的更改不会保存。</translation>
    </message>
    <message>
        <source>The list of downloads ({path}) was damaged; it is kept as {aside}.</source>
        <translation>下载列表（{path}）已损坏；它已保留为 {aside}。</translation>
    </message>
    <message>
        <source>{address!r} is not the address of a hub (https://host).</source>
        <translation>{address!r} 不是服务器的地址（https://host）。</translation>
    </message>
    <message>
        <source>The hub did not answer for {what} ({page}); check the connection or the address of the hub (HF_ENDPOINT).</source>
        <translation>服务器没有回应对{what}的请求（{page}）；请检查网络连接或服务器地址（HF_ENDPOINT）。</translation>
    </message>
    <message>
        <source>later</source>
        <translation>稍后</translation>
    </message>
    <message>
        <source>{endpoint} has had too many requests from here; try again {when}.</source>
        <translation>{endpoint} 收到了来自这里的过多请求；请{when}再试。</translation>
    </message>
    <message>
        <source>{repo_id} is gated: accept its terms at {page}, then give the program (or HF_TOKEN) a token of that account, made at {token_page}.</source>
        <translation>{repo_id} 受限：请在 {page} 接受其条款，然后把该账号的令牌提供给本程序（或 HF_TOKEN），令牌可在 {token_page} 创建。</translation>
    </message>
    <message>
        <source>The hub has no repository {repo_id}, or it is private and wants a token ({page}).</source>
        <translation>服务器上没有仓库 {repo_id}，或它是私有的，需要令牌（{page}）。</translation>
    </message>
    <message>
        <source>The hub answered {status} for {what} ({page}).</source>
        <translation>服务器对{what}的请求返回 {status}（{page}）。</translation>
    </message>
    <message>
        <source>{what} of {repo_id}</source>
        <translation>{repo_id} 的{what}</translation>
    </message>
    <message>
        <source>in {seconds:.0f} seconds</source>
        <translation>在 {seconds:.0f} 秒后</translation>
    </message>
    <message>
        <source>{endpoint} does not accept the token: it was revoked or has expired; make a new one at {token_page}.</source>
        <translation>{endpoint} 不接受该令牌：它已被撤销或已过期；请在 {token_page} 创建新的令牌。</translation>
    </message>
    <message>
        <source>{page} has no such revision.</source>
        <translation>{page} 没有这个版本。</translation>
    </message>
    <message>
        <source>{repo_id} has no {what}.</source>
        <translation>{repo_id} 没有{what}。</translation>
    </message>
    <message>
        <source>{repo_id} is gated, and the account of this token has no access to it yet: accept its terms, or wait until its authors have agreed, at {page}.</source>
        <translation>{repo_id} 受限，且该令牌的账号尚无权访问：请在 {page} 接受其条款，或等待作者同意。</translation>
    </message>
    <message>
        <source>The hub has no repository {repo_id}, or this token may not see it ({page}).</source>
        <translation>服务器上没有仓库 {repo_id}，或该令牌无权查看它（{page}）。</translation>
    </message>
    <message>
        <source>The hub refuses {what} of {repo_id} {who}; see {page} and {token_page}.</source>
        <translation>服务器拒绝{who}访问 {repo_id} 的{what}；请参阅 {page} 和 {token_page}。</translation>
    </message>
    <message>
        <source>{repo_id} is not the name of a repository.</source>
        <translation>{repo_id} 不是仓库的名称。</translation>
    </message>
    <message>
        <source>HF_HUB_OFFLINE is set, so {what} is not asked for.</source>
        <translation>已设置 HF_HUB_OFFLINE，因此不会请求{what}。</translation>
    </message>
    <message>
        <source>to this token</source>
        <translation>该令牌</translation>
    </message>
    <message>
        <source>without a token</source>
        <translation>无令牌者</translation>
    </message>
    <message>
        <source>{name} is not a name in the library.</source>
        <translation>{name} 不是模型库中的名称。</translation>
    </message>
    <message>
        <source>{name} is damaged: {problem}</source>
        <translation>{name} 已损坏：{problem}</translation>
    </message>
    <message>
        <source>{name} has {num_bytes:,} bytes, not {expected:,}.</source>
        <translation>{name} 有 {num_bytes:,} 字节，应为 {expected:,} 字节。</translation>
    </message>
    <message>
        <source>{name} cannot be read ({reason}).</source>
        <translation>无法读取 {name}（{reason}）。</translation>
    </message>
    <message>
        <source>Type the name of a repository, its address, or words to search for.</source>
        <translation>请输入仓库的名称、网址，或要搜索的关键词。</translation>
    </message>
    <message>
        <source>{url} is not the address of a model repository.</source>
        <translation>{url} 不是模型仓库的网址。</translation>
    </message>
    <message>
        <source>repositories called {text}</source>
        <translation>名为 {text} 的仓库</translation>
    </message>
    <message>
        <source>The starter model is not installed; {hint}.</source>
        <translation>没有安装入门模型；{hint}。</translation>
    </message>
    <message>
        <source>it</source>
        <translation>它</translation>
    </message>
    <message>
        <source>{text} is not a name in the library.</source>
        <translation>{text} 不是模型库中的名称。</translation>
    </message>
    <message>
        <source>{text} may mean {places}; name one of these.</source>
        <translation>{text} 可能指 {places}；请指明其中一个。</translation>
    </message>
    <message>
        <source>{where} cannot be read ({reason}).</source>
        <translation>无法读取 {where}（{reason}）。</translation>
    </message>
    <message>
        <source>The bytes of {names} are gone.</source>
        <translation>{names} 的内容已不存在。</translation>
    </message>
    <message>
        <source>{name} was not written as it was read; {folder} cannot be trusted.</source>
        <translation>写入的 {name} 与读取的不同；{folder} 不可靠。</translation>
    </message>
    <message>
        <source>The library is in {target} already.</source>
        <translation>模型库已经在 {target} 中。</translation>
    </message>
    <message>
        <source>{target} is inside the library itself; choose another folder.</source>
        <translation>{target} 在模型库内部；请选择另一个文件夹。</translation>
    </message>
    <message>
        <source>{target} is a file, not a folder.</source>
        <translation>{target} 是文件，不是文件夹。</translation>
    </message>
    <message>
        <source>The library takes {needed}, and {spare} must stay free; {volume} has {free}.</source>
        <translation>模型库需要 {needed}，还必须留出 {spare}；{volume} 剩余 {free}。</translation>
    </message>
    <message>
        <source>being moved</source>
        <translation>被移动</translation>
    </message>
    <message>
        <source>{name} is {purpose} right now; nothing was moved.</source>
        <translation>{name} 正在{purpose}；没有移动任何内容。</translation>
    </message>
    <message>
        <source>{target} is there already; nothing was moved.</source>
        <translation>{target} 已存在；没有移动任何内容。</translation>
    </message>
    <message>
        <source>{kept} was being replaced when the program was cut short; this is the older one.</source>
        <translation>程序中断时正在替换 {kept}；这是较旧的一个。</translation>
    </message>
    <message>
        <source>{name} cannot be read (permission denied).</source>
        <translation>无法读取 {name}（没有权限）。</translation>
    </message>
    <message>
        <source>A removal was cut short.</source>
        <translation>一次移除被中断。</translation>
    </message>
    <message>
        <source>{kept} replaced it; removing it was cut short.</source>
        <translation>{kept} 已替换它；移除它时被中断。</translation>
    </message>
    <message>
        <source>{path} is not in the hub&apos;s cache.</source>
        <translation>{path} 不在服务器的缓存中。</translation>
    </message>
    <message>
        <source>{path} is a folder of yours; nothing was removed.</source>
        <translation>{path} 是你自己的文件夹；没有移除任何内容。</translation>
    </message>
    <message>
        <source>{name} is being downloaded right now; nothing was removed.</source>
        <translation>{name} 正在下载；没有移除任何内容。</translation>
    </message>
    <message>
        <source>{name} is {purpose} right now; nothing was removed.</source>
        <translation>{name} 正在{purpose}；没有移除任何内容。</translation>
    </message>
    <message>
        <source>{name} holds folders that are not part of a checkpoint; nothing was removed.</source>
        <translation>{name} 含有不属于检查点的文件夹；没有移除任何内容。</translation>
    </message>
    <message>
        <source>No file manager could be opened; the file is {place}.</source>
        <translation>无法打开文件管理器；文件位于 {place}。</translation>
    </message>
    <message>
        <source>{volume} has no Recycle Bin.</source>
        <translation>{volume} 没有回收站。</translation>
    </message>
    <message>
        <source>{path} is there already; what is in the trash stays there.</source>
        <translation>{path} 已存在；回收站中的内容留在原处。</translation>
    </message>
    <message>
        <source>{name} is no longer in the trash.</source>
        <translation>{name} 已不在回收站中。</translation>
    </message>
    <message>
        <source>{name} could not be moved to the trash ({reason}).</source>
        <translation>无法把 {name} 移到回收站（{reason}）。</translation>
    </message>
    <message>
        <source>{file} is not the hub&apos;s.</source>
        <translation>{file} 不是服务器上的文件。</translation>
    </message>
    <message>
        <source>{name} is damaged: its digest is not the hub&apos;s.</source>
        <translation>{name} 已损坏：它的摘要与服务器的不符。</translation>
    </message>
    <message>
        <source>{file} carries no digest.</source>
        <translation>{file} 不带摘要。</translation>
    </message>
    <message>
        <source>{file} lies in a plain folder, which says nothing of its digest.</source>
        <translation>{file} 位于普通文件夹中，无从得知它的摘要。</translation>
    </message>
    <message>
        <source>{file}: {reason}</source>
        <translation>{file}：{reason}</translation>
    </message>
    <message>
        <source>The server sent what is no chat completion.</source>
        <translation>服务器返回的内容不是聊天回复。</translation>
    </message>
    <message>
        <source>The server broke off: {said}</source>
        <translation>服务器中断了：{said}</translation>
    </message>
    <message>
        <source>{base_url} lists no models; is it an OpenAI server?</source>
        <translation>{base_url} 没有列出模型；它是 OpenAI 服务器吗？</translation>
    </message>
    <message>
        <source>{base_url} has no model loaded.</source>
        <translation>{base_url} 没有加载模型。</translation>
    </message>
    <message>
        <source>{base_url} has no model {model}; it has {names}.</source>
        <translation>{base_url} 没有模型 {model}；它有 {names}。</translation>
    </message>
    <message>
        <source>The server ended the reply in the middle.</source>
        <translation>服务器在回复中途结束了。</translation>
    </message>
    <message>
        <source>{text!r} is not the address of a server, like http://127.0.0.1:8000/v1.</source>
        <translation>{text!r} 不是服务器的地址，地址应类似 http://127.0.0.1:8000/v1。</translation>
    </message>
    <message>
        <source>An address holds no name and password; write the key below it.</source>
        <translation>地址中不含用户名和密码；请把密钥写在下方。</translation>
    </message>
    <message>
        <source>{address!r} is not an address: {error}.</source>
        <translation>{address!r} 不是地址：{error}。</translation>
    </message>
    <message>
        <source>it wants a key, or does not know this one</source>
        <translation>它需要密钥，或不认识这个密钥</translation>
    </message>
    <message>
        <source>it does not let this key in</source>
        <translation>它不允许这个密钥访问</translation>
    </message>
    <message>
        <source>it has nothing there; does the address end in /v1?</source>
        <translation>那里什么也没有；地址是否以 /v1 结尾？</translation>
    </message>
    <message>
        <source>it has too many requests; try again later</source>
        <translation>它收到的请求过多；请稍后再试</translation>
    </message>
    <message>
        <source>it has no model loaded, or is too busy</source>
        <translation>它没有加载模型，或太忙</translation>
    </message>
    <message>
        <source>{base_url} answered {status}: {said}</source>
        <translation>{base_url} 返回 {status}：{said}</translation>
    </message>
    <message>
        <source>Nothing answers at {base_url}: is the server running, and the address right?</source>
        <translation>{base_url} 没有任何回应：服务器是否在运行，地址是否正确？</translation>
    </message>
    <message>
        <source>{base_url} sends elsewhere ({status}), to {target}; use that address.</source>
        <translation>{base_url} 转向别处（{status}），即 {target}；请使用那个地址。</translation>
    </message>
    <message>
        <source>The certificate of {base_url} is not trusted here.</source>
        <translation>这里不信任 {base_url} 的证书。</translation>
    </message>
    <message>
        <source>{base_url} does not answer.</source>
        <translation>{base_url} 没有回应。</translation>
    </message>
    <message>
        <source>{base_url} said nothing for minutes and was given up.</source>
        <translation>{base_url} 几分钟没有响应，已放弃。</translation>
    </message>
    <message>
        <source>{base_url} answered with what is no stream of a chat completion.</source>
        <translation>{base_url} 返回的内容不是聊天回复流。</translation>
    </message>
    <message>
        <source>The connection to {base_url} broke off.</source>
        <translation>与 {base_url} 的连接中断。</translation>
    </message>
    <message>
        <source>it does not say why</source>
        <translation>它没有说明原因</translation>
    </message>
    <message>
        <source>The log of {path} was damaged and is kept as {aside}: what was said last may be missing.</source>
        <translation>{path} 的日志已损坏，已保留为 {aside}：最后的对话可能缺失。</translation>
    </message>
    <message>
        <source>The report of {name} could not be saved: {reason}.</source>
        <translation>无法保存 {name} 的报告：{reason}。</translation>
    </message>
    <message>
        <source>{output} could not be written: {reason}.</source>
        <translation>无法写入 {output}：{reason}。</translation>
    </message>
    <message>
        <source>{name} could not be written: {reason}.</source>
        <translation>无法写入 {name}：{reason}。</translation>
    </message>
    <message>
        <source>{num_given:,} bytes were to replace {num_bytes:,} of the cache.</source>
        <translation>要用 {num_given:,} 字节替换缓存中的 {num_bytes:,} 字节。</translation>
    </message>
    <message>
        <source>The state of slot {slot} cannot go to position {start:,}: it has seen {count} tokens, and can only go on or begin anew.</source>
        <translation>槽位 {slot} 的状态不能跳到位置 {start:,}：它读过 {count}个 token，只能继续或重新开始。</translation>
    </message>
    <message>
        <source>{end:,} tokens do not fit into the context, which was planned for {max_model_len:,}.</source>
        <translation>{end:,} 个 token 放不进上下文，上下文按 {max_model_len:,} 个规划。</translation>
    </message>
    <message>
        <source>There is no such chunk: slot {slot}, start {start:,}.</source>
        <translation>没有这样的块：槽位 {slot}，起点 {start:,}。</translation>
    </message>
    <message>
        <source>Slot {slot} has no page for position {position:,}.</source>
        <translation>槽位 {slot} 没有位置 {position:,} 的页。</translation>
    </message>
    <message>
        <source>A token id is outside the vocabulary of {vocab_size:,}.</source>
        <translation>有 token 编号超出了 {vocab_size:,} 个的词表。</translation>
    </message>
    <message>
        <source>The model needs {needed} of memory for a context of {needed_len:,} tokens, {weights} of it for weights; only {available} are free.</source>
        <translation>该模型在 {needed_len:,} 个 token 的上下文中需要 {needed} 内存，其中权重占 {weights}；只剩余 {available}。</translation>
    </message>
    <message>
        <source>A context of {wanted_len:,} tokens was asked for; this model can have 2 to {longest:,}.</source>
        <translation>要求的上下文为 {wanted_len:,} 个 token；这个模型可用 2 到 {longest:,} 个。</translation>
    </message>
    <message>
        <source>The prompt has {num_tokens:,} tokens; the context is planned for {max_model_len:,}, at least one of them for the reply.</source>
        <translation>提示词有 {num_tokens:,} 个 token；上下文按 {max_model_len:,} 个规划，其中至少一个留给回复。</translation>
    </message>
    <message>
        <source>The model needs {needed} of the {card} for a context of {needed_len:,} tokens (weights {weights}, KV cache {kv}, workspace {workspace}); of its {total}, {available} can be used: other programs hold {others}, CUDA {context}. {remedy}</source>
        <translation>该模型在 {needed_len:,} 个 token 的上下文中需要 {card} 的 {needed}（权重 {weights}，KV 缓存 {kv}，工作区 {workspace}）；它共有 {total}，可用 {available}：其他程序占用 {others}，CUDA 占用 {context}。{remedy}</translation>
    </message>
    <message>
        <source>A context of {fitting:,} tokens fits, with an int8 KV cache {with_int8:,}.</source>
        <translation>可容纳 {fitting:,} 个 token 的上下文，使用 int8 KV 缓存时为 {with_int8:,} 个。</translation>
    </message>
    <message>
        <source>A context of {fitting:,} tokens fits.</source>
        <translation>可容纳 {fitting:,} 个 token 的上下文。</translation>
    </message>
    <message>
        <source>The system&apos;s keyring does not let go of it; it may be locked.</source>
        <translation>系统的密钥环没有将其删除；密钥环可能已锁定。</translation>
    </message>
    <message>
        <source>The move cannot be recorded in {folder} ({reason}); nothing was moved.</source>
        <translation>无法在 {folder} 中记录这次移动（{reason}）；没有移动任何内容。</translation>
    </message>
    <message>
        <source>{name} could not be moved ({reason}); what is moved already stays in {target}, and the move can go on.</source>
        <translation>无法移动 {name}（{reason}）；已移动的部分留在 {target}，可以继续移动。</translation>
    </message>
    <message>
        <source>{name} could not be deleted ({reason}).</source>
        <translation>无法删除 {name}（{reason}）。</translation>
    </message>
    <message>
        <source>{name} could not be brought back ({reason}).</source>
        <translation>无法恢复 {name}（{reason}）。</translation>
    </message>
    <message>
        <source>Only a bundle has a list of what must be in it.</source>
        <translation>只有打包的程序才有必含内容的清单。</translation>
    </message>
    <message>
        <source>There is no converted starter.</source>
        <translation>没有已转换的入门模型。</translation>
    </message>
    <message>
        <source>{problem} Port {free} is free.</source>
        <translation>{problem}端口 {free} 空闲。</translation>
    </message>
    <message>
        <source>Port {port} is in use.</source>
        <translation>端口 {port} 已被占用。</translation>
    </message>
    <message>
        <source>{problem}</source>
        <translation>{problem}</translation>
    </message>
    <message>
        <source>The system has reserved port {port}.</source>
        <translation>系统保留了端口 {port}。</translation>
    </message>
    <message>
        <source>Port {port} is in use by {holder}.</source>
        <translation>端口 {port} 正被 {holder} 占用。</translation>
    </message>
    <message>
        <source>{host} is no address of this machine.</source>
        <translation>{host} 不是本机的地址。</translation>
    </message>
    <message>
        <source>{name} (process {pid})</source>
        <translation>{name}（进程 {pid}）</translation>
    </message>
    <message>
        <source>{host} can be reached from other machines, so the port needs a key: give it an API key, or stay on 127.0.0.1.</source>
        <translation>其他机器可以访问 {host}，因此端口需要密钥：请设置 API 密钥，或仅使用 127.0.0.1。</translation>
    </message>
    <message>
        <source>A port is a number up to 65535, not {port}.</source>
        <translation>端口应为不大于 65535 的数字，而不是 {port}。</translation>
    </message>
    <message>
        <source>The server did not start; the log has the reason.</source>
        <translation>服务器未能启动；原因见日志。</translation>
    </message>
    <message>
        <source>num_hidden_layers must be 1 to {most}, not {count}.</source>
        <translation>num_hidden_layers 必须在 1 到 {most} 之间，而不是 {count}。</translation>
    </message>
    <message>
        <source>architectures must name exactly one class, not {names}.</source>
        <translation>architectures 必须只列出一个类，而不是 {names}。</translation>
    </message>
    <message>
        <source>layer_types must be a list.</source>
        <translation>layer_types 必须是列表。</translation>
    </message>
    <message>
        <source>hidden_size ({hidden_size}) is not a multiple of num_attention_heads ({num_heads}) and head_dim is not given.</source>
        <translation>hidden_size（{hidden_size}）不是 num_attention_heads（{num_heads}）的倍数，也没有给出 head_dim。</translation>
    </message>
    <message>
        <source>layer_types asks for sliding_attention, but use_sliding_window is false.</source>
        <translation>layer_types 要求 sliding_attention，但 use_sliding_window 为 false。</translation>
    </message>
    <message>
        <source>layer_types: {name!r} is not implemented.</source>
        <translation>layer_types：不支持 {name!r}。</translation>
    </message>
    <message>
        <source>{name} {found!r} is not implemented, only {wanted!r}.</source>
        <translation>不支持 {name} {found!r}，只支持 {wanted!r}。</translation>
    </message>
    <message>
        <source>topk_method {method!r} is not implemented.</source>
        <translation>不支持 topk_method {method!r}。</translation>
    </message>
    <message>
        <source>sliding_window_pattern {period!r} needs layer_types beside it.</source>
        <translation>sliding_window_pattern {period!r} 需要同时给出 layer_types。</translation>
    </message>
    <message>
        <source>hidden_act is {legacy!r}, but hidden_activation is {found!r}.</source>
        <translation>hidden_act 是 {legacy!r}，但 hidden_activation 是 {found!r}。</translation>
    </message>
    <message>
        <source>sliding_window_pattern must be positive, not {period}.</source>
        <translation>sliding_window_pattern 必须为正数，而不是 {period}。</translation>
    </message>
    <message>
        <source>mlp_layer_types must be a list of &apos;dense&apos; and &apos;sparse&apos;.</source>
        <translation>mlp_layer_types 必须是由 &apos;dense&apos; 和 &apos;sparse&apos; 组成的列表。</translation>
    </message>
    <message>
        <source>The configuration has neither rope_parameters nor rope_scaling.</source>
        <translation>配置中既没有 rope_parameters，也没有 rope_scaling。</translation>
    </message>
    <message>
        <source>num_experts_per_tok and experts_per_token differ.</source>
        <translation>num_experts_per_tok 与 experts_per_token 不同。</translation>
    </message>
    <message>
        <source>The rope configuration needs {beta} and original_max_position_embeddings.</source>
        <translation>rope 配置需要 {beta} 和 original_max_position_embeddings。</translation>
    </message>
    <message>
        <source>use_sliding_window is true, but layer_types does not say where.</source>
        <translation>use_sliding_window 为 true，但 layer_types 没有说明在哪里。</translation>
    </message>
    <message>
        <source>no_rope_layer_interval must be positive, not {interval}.</source>
        <translation>no_rope_layer_interval 必须为正数，而不是 {interval}。</translation>
    </message>
    <message>
        <source>{where}: {name} must be {wanted}, not {found!r}.</source>
        <translation>{where}：{name} 必须是{wanted}，而不是 {found!r}。</translation>
    </message>
    <message>
        <source>{where} has no {name}.</source>
        <translation>{where} 没有 {name}。</translation>
    </message>
    <message>
        <source>{where} sets {listed}, which this model family does not know.</source>
        <translation>{where} 设置了 {listed}，这个模型系列不认识它。</translation>
    </message>
    <message>
        <source>an integer</source>
        <translation>整数</translation>
    </message>
    <message>
        <source>a number</source>
        <translation>数</translation>
    </message>
    <message>
        <source>a positive number</source>
        <translation>正数</translation>
    </message>
    <message>
        <source>true or false</source>
        <translation>true 或 false</translation>
    </message>
    <message>
        <source>a string</source>
        <translation>字符串</translation>
    </message>
    <message>
        <source>a token id or a list of them</source>
        <translation>token 编号或其列表</translation>
    </message>
    <message>
        <source>a list of numbers</source>
        <translation>数的列表</translation>
    </message>
    <message>
        <source>hidden_act of a gated delta net must be &apos;silu&apos;.</source>
        <translation>门控 delta 网络的 hidden_act 必须是 &apos;silu&apos;。</translation>
    </message>
    <message>
        <source>full_attention_interval must be positive, not {interval}.</source>
        <translation>full_attention_interval 必须为正数，而不是 {interval}。</translation>
    </message>
    <message>
        <source>linear_num_value_heads ({linear_num_value_heads}) is not a multiple of linear_num_key_heads ({linear_num_key_heads}).</source>
        <translation>linear_num_value_heads（{linear_num_value_heads}）不是 linear_num_key_heads（{linear_num_key_heads}）的倍数。</translation>
    </message>
    <message>
        <source>linear_conv_kernel_dim must be at least 2.</source>
        <translation>linear_conv_kernel_dim 至少为 2。</translation>
    </message>
    <message>
        <source>{name} must be positive.</source>
        <translation>{name} 必须为正数。</translation>
    </message>
    <message>
        <source>{file}: only {present} of {linears} have biases.</source>
        <translation>{file}：{linears} 中只有 {present} 有偏置。</translation>
    </message>
    <message>
        <source>{pattern!r} is not supported</source>
        <translation>不支持 {pattern!r}</translation>
    </message>
    <message>
        <source>Granite without rope is not supported</source>
        <translation>不支持没有 rope 的 Granite</translation>
    </message>
    <message>
        <source>{file}: this GGUF holds {what}, not a language model.</source>
        <translation>{file}：这个 GGUF 中是{what}，不是语言模型。</translation>
    </message>
    <message>
        <source>{file}: block_count is {num_layers:,}, but there are only {num_tensors:,} tensors.</source>
        <translation>{file}：block_count 是 {num_layers:,}，但只有 {num_tensors:,} 个张量。</translation>
    </message>
    <message>
        <source>{file}: the metadata has no general.architecture.</source>
        <translation>{file}：元数据中没有 general.architecture。</translation>
    </message>
    <message>
        <source>{file}: the architecture {name!r} is not supported.</source>
        <translation>{file}：不支持架构 {name!r}。</translation>
    </message>
    <message>
        <source>a vision projector (mmproj)</source>
        <translation>视觉投影器（mmproj）</translation>
    </message>
    <message>
        <source>a LoRA adapter</source>
        <translation>LoRA 适配器</translation>
    </message>
    <message>
        <source>an importance matrix</source>
        <translation>重要性矩阵</translation>
    </message>
    <message>
        <source>{file}: attention.head_count is {num_heads}.</source>
        <translation>{file}：attention.head_count 是 {num_heads}。</translation>
    </message>
    <message>
        <source>{file}: the tensor token_embd.weight is missing.</source>
        <translation>{file}：缺少张量 token_embd.weight。</translation>
    </message>
    <message>
        <source>a vision projector (clip)</source>
        <translation>视觉投影器（clip）</translation>
    </message>
    <message>
        <source>a draft model ({name})</source>
        <translation>草稿模型（{name}）</translation>
    </message>
    <message>
        <source>{value_length} differs from key_length {key_length}</source>
        <translation>{value_length} 与 key_length {key_length} 不同</translation>
    </message>
    <message>
        <source>rotating {rotary} of {head_dim} dimensions is not supported</source>
        <translation>不支持旋转 {head_dim} 维中的 {rotary} 维</translation>
    </message>
    <message>
        <source>a mixture of experts is not supported</source>
        <translation>不支持混合专家</translation>
    </message>
    <message>
        <source>a model without causal attention is not supported</source>
        <translation>不支持没有因果注意力的模型</translation>
    </message>
    <message>
        <source>an embedding model is not supported</source>
        <translation>不支持嵌入模型</translation>
    </message>
    <message>
        <source>{file}: tokenizer.ggml.{key}_token_id is not an integer.</source>
        <translation>{file}：tokenizer.ggml.{key}_token_id 不是整数。</translation>
    </message>
    <message>
        <source>GGUF does not store StarCoder2&apos;s window of 4,096 tokens; every token sees all before it, as in llama.cpp.</source>
        <translation>GGUF 不存储 StarCoder2 的 4,096 token 窗口；每个 token 都能看到之前的所有内容，与 llama.cpp 相同。</translation>
    </message>
    <message>
        <source>Qwen2-VL or Qwen2.5-VL</source>
        <translation>Qwen2-VL 或 Qwen2.5-VL</translation>
    </message>
    <message>
        <source>{file}: the vocabulary does not begin in the first bytes of the file.</source>
        <translation>{file}：文件开头的字节中没有词表的起始处。</translation>
    </message>
    <message>
        <source>too little of it was read to judge it</source>
        <translation>读取的内容太少，无法判断</translation>
    </message>
    <message>
        <source>the array {key!r}</source>
        <translation>数组 {key!r}</translation>
    </message>
    <message>
        <source>the magic</source>
        <translation>文件标识</translation>
    </message>
    <message>
        <source>{file}: the old {format} format is not supported, only GGUF.</source>
        <translation>{file}：不支持旧的 {format} 格式，只支持 GGUF。</translation>
    </message>
    <message>
        <source>{file}: big-endian GGUF files are not supported.</source>
        <translation>{file}：不支持大端序的 GGUF 文件。</translation>
    </message>
    <message>
        <source>{file}: GGUF version {version} is not supported, only 2 and 3.</source>
        <translation>{file}：不支持 GGUF 版本 {version}，只支持 2 和 3。</translation>
    </message>
    <message>
        <source>the metadata key {key!r} has the unknown value type {value_type}</source>
        <translation>元数据键 {key!r} 的值类型 {value_type} 未知</translation>
    </message>
    <message>
        <source>the item type of {key!r}</source>
        <translation>{key!r} 的元素类型</translation>
    </message>
    <message>
        <source>the length of {what}</source>
        <translation>{what}的长度</translation>
    </message>
    <message>
        <source>{what} has the unknown or nested item type {item_type}</source>
        <translation>{what}的元素类型 {item_type} 未知或是嵌套的</translation>
    </message>
    <message>
        <source>a tensor name</source>
        <translation>张量名称</translation>
    </message>
    <message>
        <source>the shape of tensor {name!r}</source>
        <translation>张量 {name!r} 的形状</translation>
    </message>
    <message>
        <source>the number of tensors</source>
        <translation>张量的数量</translation>
    </message>
    <message>
        <source>the number of metadata keys</source>
        <translation>元数据键的数量</translation>
    </message>
    <message>
        <source>the file is empty</source>
        <translation>文件是空的</translation>
    </message>
    <message>
        <source>this is a Git LFS pointer, not the model itself; download the real file</source>
        <translation>这是 Git LFS 指针，不是模型本身；请下载真正的文件</translation>
    </message>
    <message>
        <source>this is not a GGUF file (it does not start with GGUF)</source>
        <translation>这不是 GGUF 文件（它不以 GGUF 开头）</translation>
    </message>
    <message>
        <source>the version</source>
        <translation>版本</translation>
    </message>
    <message>
        <source>the name of metadata key {index}</source>
        <translation>第 {index} 个元数据键的名称</translation>
    </message>
    <message>
        <source>the type of {key!r}</source>
        <translation>{key!r} 的类型</translation>
    </message>
    <message>
        <source>the value of {key!r}</source>
        <translation>{key!r} 的值</translation>
    </message>
    <message>
        <source>the boolean {key!r} has the value {value}</source>
        <translation>布尔值 {key!r} 的值是 {value}</translation>
    </message>
    <message>
        <source>general.alignment is {alignment!r}, which is not a power of two</source>
        <translation>general.alignment 是 {alignment!r}，它不是 2 的幂</translation>
    </message>
    <message>
        <source>tensor {name!r} has {num_dimensions} dimensions</source>
        <translation>张量 {name!r} 有 {num_dimensions} 维</translation>
    </message>
    <message>
        <source>the type of {name!r}</source>
        <translation>{name!r} 的类型</translation>
    </message>
    <message>
        <source>the offset of {name!r}</source>
        <translation>{name!r} 的偏移</translation>
    </message>
    <message>
        <source>tensor {name!r} of shape {shape} cannot be {ggml_type}</source>
        <translation>形状为 {shape} 的张量 {name!r} 不能是 {ggml_type}</translation>
    </message>
    <message>
        <source>tensor {tensor!r} is not aligned to {alignment} bytes</source>
        <translation>张量 {tensor!r} 没有按 {alignment} 字节对齐</translation>
    </message>
    <message>
        <source>the file is truncated or damaged: tensor {tensor!r} ends at byte {end:,}, the file has {total_bytes:,}</source>
        <translation>文件被截断或已损坏：张量 {tensor!r} 在第 {end:,} 字节结束，而文件只有 {total_bytes:,} 字节</translation>
    </message>
    <message>
        <source>the metadata key {key!r} appears twice</source>
        <translation>元数据键 {key!r} 出现了两次</translation>
    </message>
    <message>
        <source>the tensor {tensor!r} appears twice</source>
        <translation>张量 {tensor!r} 出现了两次</translation>
    </message>
    <message>
        <source>the tensors {first!r} and {second!r} overlap</source>
        <translation>张量 {first!r} 与 {second!r} 重叠</translation>
    </message>
    <message>
        <source>the shape of {name!r}</source>
        <translation>{name!r} 的形状</translation>
    </message>
    <message>
        <source>Only the language model of Qwen3.5 is converted; it reads text.</source>
        <translation>只转换 Qwen3.5 的语言模型；它读取文本。</translation>
    </message>
    <message>
        <source>{inner} is no multiple of {num_value_heads} heads</source>
        <translation>{inner} 不是 {num_value_heads} 个头的倍数</translation>
    </message>
    <message>
        <source>The file does not say within which groups a token chooses its experts; it chooses among all, as in llama.cpp.</source>
        <translation>文件没有说明 token 在哪些组内选择专家；它在所有专家中选择，与 llama.cpp 相同。</translation>
    </message>
    <message>
        <source>{gating} is not known for this architecture</source>
        <translation>这种架构不认识 {gating}</translation>
    </message>
    <message>
        <source>a model without experts is not supported</source>
        <translation>不支持没有专家的模型</translation>
    </message>
    <message>
        <source>{file}: {prefix}{name}: {reason}.</source>
        <translation>{file}：{prefix}{name}：{reason}。</translation>
    </message>
    <message>
        <source>{file}: {prefix}{name} must be {wanted}, not {found!r}.</source>
        <translation>{file}：{prefix}{name} 必须是{wanted}，而不是 {found!r}。</translation>
    </message>
    <message>
        <source>{file}: the metadata has no {prefix}{name}.</source>
        <translation>{file}：元数据中没有 {prefix}{name}。</translation>
    </message>
    <message>
        <source>{file}: metadata that this program does not understand: {listed}.</source>
        <translation>{file}：本程序不理解的元数据：{listed}。</translation>
    </message>
    <message>
        <source>different values per layer are not supported</source>
        <translation>不支持各层取不同的值</translation>
    </message>
    <message>
        <source>{found} is not known for this architecture</source>
        <translation>这种架构不认识 {found}</translation>
    </message>
    <message>
        <source>the architecture has no such scale</source>
        <translation>这种架构没有这样的系数</translation>
    </message>
    <message>
        <source>Mixtral&apos;s weights are always normalized</source>
        <translation>Mixtral 的权重总是归一化的</translation>
    </message>
    <message>
        <source>a softmax over the chosen is normalized</source>
        <translation>对所选专家的 softmax 是归一化的</translation>
    </message>
    <message>
        <source>every other layer slides</source>
        <translation>每隔一层使用滑动窗口</translation>
    </message>
    <message>
        <source>{file}: {name} has shape {shape}, {rotary_dim} rotary dimensions need [{num_wanted}].</source>
        <translation>{file}：{name} 的形状是 {shape}，而 {rotary_dim} 个旋转维度需要 [{num_wanted}]。</translation>
    </message>
    <message>
        <source>{file}: {name} holds a divisor that is not positive.</source>
        <translation>{file}：{name} 含有非正的除数。</translation>
    </message>
    <message>
        <source>{file}: only one of {long}, {short}.</source>
        <translation>{file}：{long} 和 {short} 只有其中一个。</translation>
    </message>
    <message>
        <source>{kind!r} is not supported</source>
        <translation>不支持 {kind!r}</translation>
    </message>
    <message>
        <source>{file}: the metadata has a rope.scaling.type but no usable factor.</source>
        <translation>{file}：元数据中有 rope.scaling.type，但没有可用的 factor。</translation>
    </message>
    <message>
        <source>{rope_type!r} together with rope_freqs.weight</source>
        <translation>{rope_type!r} 与 rope_freqs.weight 同时出现</translation>
    </message>
    <message>
        <source>{rope_type!r} together with {long}</source>
        <translation>{rope_type!r} 与 {long} 同时出现</translation>
    </message>
    <message>
        <source>only 1 is supported</source>
        <translation>只支持 1</translation>
    </message>
    <message>
        <source>{file}: {fault}.</source>
        <translation>{file}：{fault}。</translation>
    </message>
    <message>
        <source>the header is truncated or damaged: {what} needs {num_bytes:,} bytes past the end</source>
        <translation>文件头被截断或已损坏：{what}超出末尾 {num_bytes:,} 字节</translation>
    </message>
    <message>
        <source>{what} would make the header larger than {most_mib} MiB</source>
        <translation>{what}会使文件头超过 {most_mib} MiB</translation>
    </message>
    <message>
        <source>{what} is {count:,}, which no real file has</source>
        <translation>{what}是 {count:,}，真正的文件不会如此</translation>
    </message>
    <message>
        <source>{what} is {length:,} bytes long, which no real file has</source>
        <translation>{what}长 {length:,} 字节，真正的文件不会如此</translation>
    </message>
    <message>
        <source>the file ended while {what} was read</source>
        <translation>读取{what}时文件结束了</translation>
    </message>
    <message>
        <source>{what} holds a string that is not UTF-8</source>
        <translation>{what}含有非 UTF-8 的字符串</translation>
    </message>
    <message>
        <source>{what} is not UTF-8</source>
        <translation>{what}不是 UTF-8</translation>
    </message>
    <message>
        <source>{file}: tensor {tensor!r} has {kind} ggml type id {type_id}.</source>
        <translation>{file}：张量 {tensor!r} 的 ggml 类型编号 {type_id} {kind}。</translation>
    </message>
    <message>
        <source>the removed</source>
        <translation>已被移除</translation>
    </message>
    <message>
        <source>an unknown</source>
        <translation>未知</translation>
    </message>
    <message>
        <source>n_routed_experts and num_local_experts differ.</source>
        <translation>n_routed_experts 与 num_local_experts 不同。</translation>
    </message>
    <message>
        <source>q_lora_rank must be positive.</source>
        <translation>q_lora_rank 必须为正数。</translation>
    </message>
    <message>
        <source>num_attention_heads ({num_attention_heads}) is not a multiple of num_key_value_heads ({num_key_value_heads}).</source>
        <translation>num_attention_heads（{num_attention_heads}）不是 num_key_value_heads（{num_key_value_heads}）的倍数。</translation>
    </message>
    <message>
        <source>head_dim ({head_dim}) is odd; rotary embedding needs pairs.</source>
        <translation>head_dim（{head_dim}）是奇数；旋转位置编码需要成对的维度。</translation>
    </message>
    <message>
        <source>hidden_act {hidden_act!r} is not implemented.</source>
        <translation>不支持 hidden_act {hidden_act!r}。</translation>
    </message>
    <message>
        <source>Latent attention needs as many heads of keys as of queries, all of {qk_head_dim} columns.</source>
        <translation>潜在注意力要求键的头数与查询相同，且都是 {qk_head_dim} 列。</translation>
    </message>
    <message>
        <source>Latent attention rotates qk_rope_head_dim ({qk_rope_head_dim}) columns, not {dim}.</source>
        <translation>潜在注意力旋转 qk_rope_head_dim（{qk_rope_head_dim}）列，而不是 {dim} 列。</translation>
    </message>
    <message>
        <source>layer_types asks for sliding_attention, but sliding_window is not set.</source>
        <translation>layer_types 要求 sliding_attention，但没有设置 sliding_window。</translation>
    </message>
    <message>
        <source>layer_types asks for linear_attention, which this model family does not know.</source>
        <translation>layer_types 要求 linear_attention，这个模型系列不认识它。</translation>
    </message>
    <message>
        <source>{name} names {num_entries} layers, num_hidden_layers is {num_hidden_layers}.</source>
        <translation>{name} 列出了 {num_entries} 层，而 num_hidden_layers 是 {num_hidden_layers}。</translation>
    </message>
    <message>
        <source>{name} must be a positive integer, not {value!r}.</source>
        <translation>{name} 必须是正整数，而不是 {value!r}。</translation>
    </message>
    <message>
        <source>{name} must be a positive number, not {value!r}.</source>
        <translation>{name} 必须是正数，而不是 {value!r}。</translation>
    </message>
    <message>
        <source>config.json has neither num_local_experts nor num_experts.</source>
        <translation>config.json 中既没有 num_local_experts，也没有 num_experts。</translation>
    </message>
    <message>
        <source>config.json says num_local_experts {first}, but num_experts {second}.</source>
        <translation>config.json 注明 num_local_experts 为 {first}，但 num_experts 为 {second}。</translation>
    </message>
    <message>
        <source>decoder_sparse_step must be positive, not {step}.</source>
        <translation>decoder_sparse_step 必须为正数，而不是 {step}。</translation>
    </message>
    <message>
        <source>num_experts_per_tok ({num_experts_per_tok}) must be 1 to num_experts ({num_experts}).</source>
        <translation>num_experts_per_tok（{num_experts_per_tok}）必须在 1 到 num_experts（{num_experts}）之间。</translation>
    </message>
    <message>
        <source>The sizes of the experts must be positive.</source>
        <translation>专家的尺寸必须为正数。</translation>
    </message>
    <message>
        <source>{num_found} layers are named sparse or dense, num_hidden_layers is {num_layers}.</source>
        <translation>{num_found} 层注明为 sparse 或 dense，而 num_hidden_layers 是 {num_layers}。</translation>
    </message>
    <message>
        <source>n_group ({num_groups}) does not divide num_experts ({num_experts}).</source>
        <translation>n_group（{num_groups}）不能整除 num_experts（{num_experts}）。</translation>
    </message>
    <message>
        <source>topk_group must be 1 to {num_groups}.</source>
        <translation>topk_group 必须在 1 到 {num_groups} 之间。</translation>
    </message>
    <message>
        <source>The architecture {architecture} is not supported.</source>
        <translation>不支持架构 {architecture}。</translation>
    </message>
    <message>
        <source>config.json says architecture {architecture} but model_type {model_type!r}.</source>
        <translation>config.json 注明架构 {architecture}，但 model_type 为 {model_type!r}。</translation>
    </message>
    <message>
        <source>rope_theta must be greater than 1, not {theta!r}.</source>
        <translation>rope_theta 必须大于 1，而不是 {theta!r}。</translation>
    </message>
    <message>
        <source>The rope factor must be positive, not {factor!r}.</source>
        <translation>rope 的 factor 必须为正数，而不是 {factor!r}。</translation>
    </message>
    <message>
        <source>Rope type {rope_type} needs original_max_position_embeddings.</source>
        <translation>rope 类型 {rope_type} 需要 original_max_position_embeddings。</translation>
    </message>
    <message>
        <source>Rope type dynamic needs a rotary dimension of 4 or more.</source>
        <translation>rope 类型 dynamic 需要至少 4 的旋转维度。</translation>
    </message>
    <message>
        <source>The rope&apos;s low_freq_factor {low} must be less than its high_freq_factor {high}.</source>
        <translation>rope 的 low_freq_factor {low} 必须小于 high_freq_factor {high}。</translation>
    </message>
    <message>
        <source>The rope&apos;s {name} must be positive, not {value!r}.</source>
        <translation>rope 的 {name} 必须为正数，而不是 {value!r}。</translation>
    </message>
    <message>
        <source>{name} has {num_entries} entries; the rotary dimension needs {num_wanted}.</source>
        <translation>{name} 有 {num_entries} 项；旋转维度需要 {num_wanted} 项。</translation>
    </message>
    <message>
        <source>rope_parameters differ per layer type, which this model family does not know.</source>
        <translation>rope_parameters 因层的类型而异，这个模型系列不认识这种情况。</translation>
    </message>
    <message>
        <source>rope_parameters say nothing of {kind} layers.</source>
        <translation>rope_parameters 没有说明 {kind} 层。</translation>
    </message>
    <message>
        <source>rope_parameters and rope_scaling name different rope types.</source>
        <translation>rope_parameters 与 rope_scaling 注明的 rope 类型不同。</translation>
    </message>
    <message>
        <source>The configuration has neither rope_parameters nor rope_theta.</source>
        <translation>配置中既没有 rope_parameters，也没有 rope_theta。</translation>
    </message>
    <message>
        <source>rope_parameters.{name} is {inner}, but {name} is {outer}.</source>
        <translation>rope_parameters.{name} 是 {inner}，但 {name} 是 {outer}。</translation>
    </message>
    <message>
        <source>The rope&apos;s original_max_position_embeddings is {inner}, the model&apos;s {outer}.</source>
        <translation>rope 的 original_max_position_embeddings 是 {inner}，模型的是 {outer}。</translation>
    </message>
    <message>
        <source>Rope type longrope needs original_max_position_embeddings.</source>
        <translation>rope 类型 longrope 需要 original_max_position_embeddings。</translation>
    </message>
    <message>
        <source>partial_rotary_factor {share} is not implemented.</source>
        <translation>不支持 partial_rotary_factor {share}。</translation>
    </message>
    <message>
        <source>partial_rotary_factor {share} of head_dim {head_dim} is no even dimension.</source>
        <translation>head_dim {head_dim} 的 partial_rotary_factor {share} 得不到偶数维度。</translation>
    </message>
    <message>
        <source>Rope type {rope_type} needs a factor.</source>
        <translation>rope 类型 {rope_type} 需要 factor。</translation>
    </message>
    <message>
        <source>rope_parameters: {name!r} is no known layer type.</source>
        <translation>rope_parameters：{name!r} 不是已知的层类型。</translation>
    </message>
    <message>
        <source>The rope configuration</source>
        <translation>rope 配置</translation>
    </message>
    <message>
        <source>Rope type {name!r} is not implemented.</source>
        <translation>不支持 rope 类型 {name!r}。</translation>
    </message>
    <message>
        <source>The configuration of {name} needs model_type {model_type!r} and a text_config.</source>
        <translation>{name} 的配置需要 model_type {model_type!r} 和 text_config。</translation>
    </message>
    <message>
        <source>{name} around {model_type!r} is not supported.</source>
        <translation>不支持包装 {model_type!r} 的 {name}。</translation>
    </message>
    <message>
        <source>The picture could not be saved as {path}.</source>
        <translation>无法把图片保存为 {path}。</translation>
    </message>
    <message>
        <source>{num_linears} matrices ({types}) and {num_vectors} vectors, each used once; none is missing, unexpected or mis-shaped.</source>
        <translation>{num_linears} 个矩阵（{types}）和 {num_vectors} 个向量，各用一次；没有缺少、多余或形状不符的。</translation>
    </message>
    <message>
        <source>{faults}.</source>
        <translation>{faults}。</translation>
    </message>
    <message>
        <source>{num_linears} matrices and {num_vectors} vectors, each with the shape that config.json means; none is missing, unexpected or mis-shaped.</source>
        <translation>{num_linears} 个矩阵和 {num_vectors} 个向量，形状都符合 config.json；没有缺少、多余或形状不符的。</translation>
    </message>
    <message>
        <source>only config.json was given</source>
        <translation>只给出了 config.json</translation>
    </message>
    <message>
        <source>transformers&apos; module</source>
        <translation>transformers 的模块</translation>
    </message>
    <message>
        <source>{kind}: {names}</source>
        <translation>{kind}：{names}</translation>
    </message>
    <message>
        <source>The checkpoint</source>
        <translation>检查点</translation>
    </message>
    <message>
        <source>Recognised: config, adapter, ModelSpec, executor</source>
        <translation>识别：配置、适配器、ModelSpec、执行器</translation>
    </message>
    <message>
        <source>Weights: every tensor used once or ignored by name</source>
        <translation>权重：每个张量用一次，或按名称忽略</translation>
    </message>
    <message>
        <source>Reference implementation</source>
        <translation>参考实现</translation>
    </message>
    <message>
        <source>Differences: model</source>
        <translation>差异：模型</translation>
    </message>
    <message>
        <source>Differences: data</source>
        <translation>差异：数据</translation>
    </message>
    <message>
        <source>Differences: generation</source>
        <translation>差异：生成</translation>
    </message>
    <message>
        <source>Rope tables up to the longest position</source>
        <translation>直到最远位置的 rope 表</translation>
    </message>
    <message>
        <source>Half-real network, one layer</source>
        <translation>半真实网络，一层</translation>
    </message>
    <message>
        <source>Half-real network, two layers</source>
        <translation>半真实网络，两层</translation>
    </message>
    <message>
        <source>Half-real network, one layer of each further kind</source>
        <translation>半真实网络，其余每种层各一层</translation>
    </message>
    <message>
        <source>Positions beyond the window and the trained length</source>
        <translation>超出窗口和训练长度的位置</translation>
    </message>
    <message>
        <source>Tokenizer: encoding and round trip</source>
        <translation>分词器：编码与还原</translation>
    </message>
    <message>
        <source>Chat template: rendered turns</source>
        <translation>聊天模板：渲染轮次</translation>
    </message>
    <message>
        <source>Stop tokens</source>
        <translation>停止 token</translation>
    </message>
    <message>
        <source>Real weights: perplexity of a text</source>
        <translation>真实权重：文本的困惑度</translation>
    </message>
    <message>
        <source>Real weights: logits</source>
        <translation>真实权重：logits</translation>
    </message>
    <message>
        <source>Real weights: 32 greedy tokens</source>
        <translation>真实权重：32 个贪心 token</translation>
    </message>
    <message>
        <source>the configuration was refused</source>
        <translation>配置不受支持</translation>
    </message>
    <message>
        <source>there is no reference to compare with</source>
        <translation>没有可比较的参考实现</translation>
    </message>
    <message>
        <source>the module does not say</source>
        <translation>该模块没有说明</translation>
    </message>
    <message>
        <source>causal</source>
        <translation>因果</translation>
    </message>
    <message>
        <source>prefill and decode</source>
        <translation>预填充和解码</translation>
    </message>
    <message>
        <source>chunked prefill</source>
        <translation>分块预填充</translation>
    </message>
    <message>
        <source>key/value cache</source>
        <translation>键/值缓存</translation>
    </message>
    <message>
        <source>prefill, then a token a step from the cache</source>
        <translation>先预填充，再从缓存逐个 token 进行</translation>
    </message>
    <message>
        <source>chunks of any size, later ones see earlier ones</source>
        <translation>块可为任意大小，后面的块能看到前面的块</translation>
    </message>
    <message>
        <source>one slot a sequence, by position; windows are masked</source>
        <translation>每个序列一个槽位，按位置存放；窗口用掩码实现</translation>
    </message>
    <message>
        <source>{same} entries are the same.</source>
        <translation>{same} 项相同。</translation>
    </message>
    <message>
        <source>the configuration was refused; the nearest family is {family}: {different} of {count} entries differ from it.</source>
        <translation>配置不受支持；最接近的系列是 {family}：{count} 项中有 {different} 项与它不同。</translation>
    </message>
    <message>
        <source>the tensors of {num_layers} layers</source>
        <translation>{num_layers} 层的张量</translation>
    </message>
    <message>
        <source>the logits are transformers&apos;</source>
        <translation>logits 与 transformers 相同</translation>
    </message>
    <message>
        <source>the logits are not transformers&apos;</source>
        <translation>logits 与 transformers 不同</translation>
    </message>
    <message>
        <source>{same} entries are the same, {unconfirmed} unconfirmed.</source>
        <translation>{same} 项相同，{unconfirmed} 项未确认。</translation>
    </message>
    <message>
        <source>rope</source>
        <translation>rope</translation>
    </message>
    <message>
        <source>the same tables at length {length}</source>
        <translation>长度 {length} 时的表相同</translation>
    </message>
    <message>
        <source>weight names and shapes</source>
        <translation>权重的名称和形状</translation>
    </message>
    <message>
        <source>{num_tensors} tensors</source>
        <translation>{num_tensors} 个张量</translation>
    </message>
    <message>
        <source>mask</source>
        <translation>掩码</translation>
    </message>
    <message>
        <source>position ids</source>
        <translation>位置编号</translation>
    </message>
    <message>
        <source>1-D, one a token</source>
        <translation>一维，每个 token 一个</translation>
    </message>
    <message>
        <source>padding</source>
        <translation>填充</translation>
    </message>
    <message>
        <source>none: each sequence has a slot of its own</source>
        <translation>无：每个序列有自己的槽位</translation>
    </message>
    <message>
        <source>none for a single sequence</source>
        <translation>单个序列无填充</translation>
    </message>
    <message>
        <source>inputs beside text</source>
        <translation>文本之外的输入</translation>
    </message>
    <message>
        <source>to be run by the half-real rows</source>
        <translation>由半真实网络的各项来运行</translation>
    </message>
    <message>
        <source>the configuration was refused, and no family can read it</source>
        <translation>配置不受支持，没有系列能读取它</translation>
    </message>
    <message>
        <source>keys</source>
        <translation>键</translation>
    </message>
    <message>
        <source>{family} knows all others</source>
        <translation>{family} 认识所有其他键</translation>
    </message>
    <message>
        <source>there is no reference</source>
        <translation>没有参考实现</translation>
    </message>
    <message>
        <source>not causal</source>
        <translation>非因果</translation>
    </message>
    <message>
        <source>3-D; the three are equal in text</source>
        <translation>三维；对文本而言三者相等</translation>
    </message>
    <message>
        <source>none: the language model of {wrapper} alone</source>
        <translation>无：仅 {wrapper} 的语言模型</translation>
    </message>
    <message>
        <source>images; the text&apos;s part is compared</source>
        <translation>图像；比较文本部分</translation>
    </message>
    <message>
        <source>{name}: ours {ours}, reference {reference}</source>
        <translation>{name}：本程序 {ours}，参考 {reference}</translation>
    </message>
    <message>
        <source>the configuration was refused, and transformers&apos; module is no decoder as known ({kind})</source>
        <translation>配置不受支持，transformers 的模块也不是已知的解码器（{kind}）</translation>
    </message>
    <message>
        <source>program</source>
        <translation>程序</translation>
    </message>
    <message>
        <source>python</source>
        <translation>python</translation>
    </message>
    <message>
        <source>system</source>
        <translation>系统</translation>
    </message>
    <message>
        <source>processor</source>
        <translation>处理器</translation>
    </message>
    <message>
        <source>{cpu}, {cores} cores</source>
        <translation>{cpu}，{cores} 核</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>devices</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>reference (torch, float32) and cpu (native kernels, float32 activations)</source>
        <translation>reference（torch，float32）和 cpu（本地内核，float32 激活）</translation>
    </message>
    <message>
        <source>not installed</source>
        <translation>未安装</translation>
    </message>
    <message>
        <source>nothing is published</source>
        <translation>没有公布</translation>
    </message>
    <message>
        <source>stop tokens</source>
        <translation>停止 token</translation>
    </message>
    <message>
        <source>start token</source>
        <translation>起始 token</translation>
    </message>
    <message>
        <source>the layers cannot be trimmed without becoming others</source>
        <translation>裁剪这些层会使它们变成别的层</translation>
    </message>
    <message>
        <source>{count} tokens</source>
        <translation>{count} 个 token</translation>
    </message>
    <message>
        <source>a window of {small} in place of {window}</source>
        <translation>以 {small} 的窗口代替 {window}</translation>
    </message>
    <message>
        <source>the trained length of {trained}</source>
        <translation>训练长度 {trained}</translation>
    </message>
    <message>
        <source>layers with and without rope</source>
        <translation>有 rope 和没有 rope 的层</translation>
    </message>
    <message>
        <source>chunks and decode</source>
        <translation>分块和解码</translation>
    </message>
    <message>
        <source>crossed: {what}</source>
        <translation>已跨越：{what}</translation>
    </message>
    <message>
        <source>there is nothing to cross</source>
        <translation>没有需要跨越的</translation>
    </message>
    <message>
        <source>not crossed: {what}</source>
        <translation>未跨越：{what}</translation>
    </message>
    <message>
        <source>the window of {window}</source>
        <translation>窗口 {window}</translation>
    </message>
    <message>
        <source>the trained length of {trained} (its tables are compared above)</source>
        <translation>训练长度 {trained}（其表已在上面比较）</translation>
    </message>
    <message>
        <source>of no known kind</source>
        <translation>未知种类</translation>
    </message>
    <message>
        <source>{type}, of no known kind</source>
        <translation>{type}，未知种类</translation>
    </message>
    <message>
        <source>neighbours</source>
        <translation>相邻</translation>
    </message>
    <message>
        <source>halves</source>
        <translation>两半</translation>
    </message>
    <message>
        <source>perplexity {perplexity:.4g} on {tokens} tokens of the bundled text</source>
        <translation>内置文本 {tokens} 个 token 上的困惑度 {perplexity:.4g}</translation>
    </message>
    <message>
        <source>{figures}: who only counts its tokens reaches {counting:.4g}.</source>
        <translation>{figures}：只统计 token 频率也能达到 {counting:.4g}。</translation>
    </message>
    <message>
        <source>{figures}, counting alone {counting:.4g}.</source>
        <translation>{figures}，仅统计频率为 {counting:.4g}。</translation>
    </message>
    <message>
        <source>read by transformers itself</source>
        <translation>由 transformers 自己读取</translation>
    </message>
    <message>
        <source>as we decode</source>
        <translation>按本程序的方式解码</translation>
    </message>
    <message>
        <source>{count} tokens, weights {reader}</source>
        <translation>{count} 个 token，权重{reader}</translation>
    </message>
    <message>
        <source>{same} tokens are equal, then two are tied (logits {margin:.2g} apart).</source>
        <translation>{same} 个 token 相同，随后两个不分上下（logits 相差 {margin:.2g}）。</translation>
    </message>
    <message>
        <source>Token {number} differs (logits {margin:.2g} apart): {text!r}.</source>
        <translation>第 {number} 个 token 不同（logits 相差 {margin:.2g}）：{text!r}。</translation>
    </message>
    <message>
        <source>{needed} are needed, {free} are free</source>
        <translation>需要 {needed}，剩余 {free}</translation>
    </message>
    <message>
        <source>{num_tokens} tokens are equal: {text!r}.</source>
        <translation>{num_tokens} 个 token 相同：{text!r}。</translation>
    </message>
    <message>
        <source>the weights were refused</source>
        <translation>权重不受支持</translation>
    </message>
    <message>
        <source>in float32 the model does not fit: {sizes}</source>
        <translation>以 float32 存放时模型放不下：{sizes}</translation>
    </message>
    <message>
        <source>{kind} executor</source>
        <translation>{kind} 执行器</translation>
    </message>
    <message>
        <source>{described} is read by {adapter_path} as family {family}; the reference and cpu executors run it.</source>
        <translation>{described} 由 {adapter_path} 读取，系列为 {family}；由 reference 和 cpu 执行器运行。</translation>
    </message>
    <message>
        <source>{reference}.</source>
        <translation>{reference}。</translation>
    </message>
    <message>
        <source>{num_heads} of queries, {num_kv_heads} of keys</source>
        <translation>查询 {num_heads} 个，键 {num_kv_heads} 个</translation>
    </message>
    <message>
        <source>{head_dim}, values {value_dim}</source>
        <translation>{head_dim}，值 {value_dim}</translation>
    </message>
    <message>
        <source>of {size} columns: {norms}</source>
        <translation>{size} 列：{norms}</translation>
    </message>
    <message>
        <source>gated</source>
        <translation>门控</translation>
    </message>
    <message>
        <source>plain</source>
        <translation>普通</translation>
    </message>
    <message>
        <source>torch and transformers</source>
        <translation>torch 和 transformers</translation>
    </message>
    <message>
        <source>transformers {version}, {model_class} ({config_class})</source>
        <translation>transformers {version}，{model_class}（{config_class}）</translation>
    </message>
    <message>
        <source>transformers has no rope that is a table of frequencies</source>
        <translation>transformers 没有以频率表表示的 rope</translation>
    </message>
    <message>
        <source>transformers {version} does not know model_type {model_type!r}</source>
        <translation>transformers {version} 不认识 model_type {model_type!r}</translation>
    </message>
    <message>
        <source>transformers {version} has no causal model of {model_type!r}</source>
        <translation>transformers {version} 没有 {model_type!r} 的因果模型</translation>
    </message>
    <message>
        <source>{package} is not installed; {how}</source>
        <translation>没有安装 {package}；{how}</translation>
    </message>
    <message>
        <source>transformers&apos; module has no {name} to put weights into</source>
        <translation>transformers 的模块中没有可放入权重的 {name}</translation>
    </message>
    <message>
        <source>{full}; sliding layers: {sliding}</source>
        <translation>{full}；滑动层：{sliding}</translation>
    </message>
    <message>
        <source>at {length} positions the frequencies differ by up to {frequency_error:.2g} (relative), cos and sin at the last by {seam_error:.2g}</source>
        <translation>在 {length} 个位置时，频率最多相差 {frequency_error:.2g}（相对），最后位置的 cos 和 sin 相差 {seam_error:.2g}</translation>
    </message>
    <message>
        <source>{kind}, {length} positions, {name}</source>
        <translation>{kind}，{length} 个位置，{name}</translation>
    </message>
    <message>
        <source>{kind}: {fault}.</source>
        <translation>{kind}：{fault}。</translation>
    </message>
    <message>
        <source>The tables agree at lengths {lengths}.</source>
        <translation>各长度的表一致：{lengths}。</translation>
    </message>
    <message>
        <source>{rope_type}, theta {theta:g}, {dim} columns</source>
        <translation>{rope_type}，theta {theta:g}，{dim} 列</translation>
    </message>
    <message>
        <source>another number of columns rotates</source>
        <translation>旋转的列数不同</translation>
    </message>
    <message>
        <source>transformers&apos; module has no rotary embedding of its own</source>
        <translation>transformers 的模块没有自己的旋转位置编码</translation>
    </message>
    <message>
        <source>exit code {code}, {word}</source>
        <translation>退出代码 {code}，{word}</translation>
    </message>
    <message>
        <source>exit code {code:#x}, {word}</source>
        <translation>退出代码 {code:#x}，{word}</translation>
    </message>
    <message>
        <source>{reason}.</source>
        <translation>{reason}。</translation>
    </message>
    <message>
        <source>whole</source>
        <translation>整体</translation>
    </message>
    <message>
        <source>chunks</source>
        <translation>分块</translation>
    </message>
    <message>
        <source>decode</source>
        <translation>解码</translation>
    </message>
    <message>
        <source>largest error {max_abs_error:.2g}, smallest cosine {cosine:.6f}</source>
        <translation>最大误差 {max_abs_error:.2g}，最小余弦 {cosine:.6f}</translation>
    </message>
    <message>
        <source>nothing trimmed</source>
        <translation>没有裁剪</translation>
    </message>
    <message>
        <source>layers {which} ({trimmed}), {num_tokens} tokens</source>
        <translation>层 {which}（{trimmed}），{num_tokens} 个 token</translation>
    </message>
    <message>
        <source>{subject}; {runs} in both executors: {figures}.</source>
        <translation>{subject}；两个执行器都以{runs}方式运行：{figures}。</translation>
    </message>
    <message>
        <source>the model has one layer</source>
        <translation>该模型只有一层</translation>
    </message>
    <message>
        <source>the first two layers are of all kinds that there are</source>
        <translation>前两层已包含所有种类</translation>
    </message>
    <message>
        <source>random weights, saved and converted</source>
        <translation>随机权重，已保存并转换</translation>
    </message>
    <message>
        <source>both executors</source>
        <translation>两个执行器</translation>
    </message>
    <message>
        <source>{subject}: {far} differ from transformers; {figures}.</source>
        <translation>{subject}：{far} 与 transformers 不同；{figures}。</translation>
    </message>
    <message>
        <source>over each head</source>
        <translation>按每个头</translation>
    </message>
    <message>
        <source>over the whole projection</source>
        <translation>按整个投影</translation>
    </message>
    <message>
        <source>{chosen} of {count} for a token, inner size {inner}</source>
        <translation>每个 token 从 {count} 个中选 {chosen} 个，内部大小 {inner}</translation>
    </message>
    <message>
        <source>layers</source>
        <translation>层数</translation>
    </message>
    <message>
        <source>hidden size</source>
        <translation>隐藏层大小</translation>
    </message>
    <message>
        <source>vocabulary</source>
        <translation>词表</translation>
    </message>
    <message>
        <source>sliding window by layer</source>
        <translation>各层的滑动窗口</translation>
    </message>
    <message>
        <source>rope by layer</source>
        <translation>各层的 rope</translation>
    </message>
    <message>
        <source>rope pairs</source>
        <translation>rope 配对</translation>
    </message>
    <message>
        <source>norm</source>
        <translation>归一化</translation>
    </message>
    <message>
        <source>norm eps</source>
        <translation>归一化 eps</translation>
    </message>
    <message>
        <source>norms of a layer</source>
        <translation>一层中的归一化</translation>
    </message>
    <message>
        <source>embedding multiplier</source>
        <translation>嵌入乘数</translation>
    </message>
    <message>
        <source>residual multiplier</source>
        <translation>残差乘数</translation>
    </message>
    <message>
        <source>logits multiplier</source>
        <translation>logits 乘数</translation>
    </message>
    <message>
        <source>softcap of logits</source>
        <translation>logits 的软上限</translation>
    </message>
    <message>
        <source>tied embeddings</source>
        <translation>共享嵌入</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <source>heads</source>
        <translation>头</translation>
    </message>
    <message>
        <source>q/k norm</source>
        <translation>q/k 归一化</translation>
    </message>
    <message>
        <source>attention biases</source>
        <translation>注意力偏置</translation>
    </message>
    <message>
        <source>attention scale</source>
        <translation>注意力缩放</translation>
    </message>
    <message>
        <source>softcap of scores</source>
        <translation>分数的软上限</translation>
    </message>
    <message>
        <source>attention sinks</source>
        <translation>注意力汇点</translation>
    </message>
    <message>
        <source>activation</source>
        <translation>激活函数</translation>
    </message>
    <message>
        <source>sparse layers</source>
        <translation>稀疏层</translation>
    </message>
    <message>
        <source>latent</source>
        <translation>潜在</translation>
    </message>
    <message>
        <source>multi-head</source>
        <translation>多头</translation>
    </message>
    <message>
        <source>multi-query</source>
        <translation>多查询</translation>
    </message>
    <message>
        <source>grouped-query</source>
        <translation>分组查询</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>是</translation>
    </message>
    <message>
        <source>no</source>
        <translation>否</translation>
    </message>
    <message>
        <source>MLP</source>
        <translation>MLP</translation>
    </message>
    <message>
        <source>MLP biases</source>
        <translation>MLP 偏置</translation>
    </message>
    <message>
        <source>MLP size</source>
        <translation>MLP 大小</translation>
    </message>
    <message>
        <source>experts</source>
        <translation>专家</translation>
    </message>
    <message>
        <source>shared expert</source>
        <translation>共享专家</translation>
    </message>
    <message>
        <source>times 1 + w</source>
        <translation>乘以 1 + w</translation>
    </message>
    <message>
        <source>times w</source>
        <translation>乘以 w</translation>
    </message>
    <message>
        <source>({words}) x{count}</source>
        <translation>（{words}）x{count}</translation>
    </message>
    <message>
        <source>plus bias</source>
        <translation>加偏置</translation>
    </message>
    <message>
        <source>{word} x{count}</source>
        <translation>{word} x{count}</translation>
    </message>
    <message>
        <source>config only</source>
        <translation>仅配置</translation>
    </message>
    <message>
        <source>{text} is neither a file, a folder, a repository nor a name in the library.</source>
        <translation>{text} 既不是文件、文件夹或仓库，也不是模型库中的名称。</translation>
    </message>
    <message>
        <source>{first} ({model_type})</source>
        <translation>{first}（{model_type}）</translation>
    </message>
    <message>
        <source>unreadable</source>
        <translation>无法读取</translation>
    </message>
    <message>
        <source>{name} has no config.json.</source>
        <translation>{name} 没有 config.json。</translation>
    </message>
    <message>
        <source>no architecture</source>
        <translation>没有架构</translation>
    </message>
    <message>
        <source>no model_type</source>
        <translation>没有 model_type</translation>
    </message>
    <message>
        <source>user</source>
        <translation>user</translation>
    </message>
    <message>
        <source>system, user</source>
        <translation>system、user</translation>
    </message>
    <message>
        <source>system, user, assistant, user</source>
        <translation>system、user、assistant、user</translation>
    </message>
    <message>
        <source>user, tool call, tool result</source>
        <translation>user、工具调用、工具结果</translation>
    </message>
    <message>
        <source>{count} conversations render, {compared} of them compared with transformers&apos;, bos at most once.</source>
        <translation>渲染了 {count} 个对话，其中 {compared} 个与 transformers 比较，bos 最多出现一次。</translation>
    </message>
    <message>
        <source>{turns}: ours {ours!r}, transformers&apos; {theirs!r} at character {at}</source>
        <translation>{turns}：本程序 {ours!r}，transformers {theirs!r}，从第 {at} 个字符起不同</translation>
    </message>
    <message>
        <source>{count} conversations render, {compared} of them compared with transformers&apos;, bos at most once; refused by the template itself: {refused}.</source>
        <translation>渲染了 {count} 个对话，其中 {compared} 个与 transformers 比较，bos 最多出现一次；模板自身拒绝的：{refused}。</translation>
    </message>
    <message>
        <source>Replies stop at {shown}; the template ends them with {end}.</source>
        <translation>回复在 {shown} 处停止；模板以 {end} 结束回复。</translation>
    </message>
    <message>
        <source>No token ends a reply: neither file names an eos token.</source>
        <translation>没有 token 结束回复：两个文件都没有注明 eos token。</translation>
    </message>
    <message>
        <source>Stop token {token_id} is outside the vocabulary.</source>
        <translation>停止 token {token_id} 超出词表。</translation>
    </message>
    <message>
        <source>Replies stop at {shown}; there is no chat template to ask.</source>
        <translation>回复在 {shown} 处停止；没有聊天模板可供核对。</translation>
    </message>
    <message>
        <source>Replies stop at {shown}; the template ends turns by no token.</source>
        <translation>回复在 {shown} 处停止；模板不以任何 token 结束轮次。</translation>
    </message>
    <message>
        <source>The template ends a reply with {ending}; stop tokens are {shown}.</source>
        <translation>模板以 {ending} 结束回复；停止 token 是 {shown}。</translation>
    </message>
    <message>
        <source>the model has no chat template</source>
        <translation>该模型没有聊天模板</translation>
    </message>
    <message>
        <source>{turns}: the prompt begins with bos twice</source>
        <translation>{turns}：提示词以两个 bos 开头</translation>
    </message>
    <message>
        <source>{turns}: the generation prompt changes what stands before it</source>
        <translation>{turns}：生成提示改变了它之前的内容</translation>
    </message>
    <message>
        <source>{turns}: the {role} turn is lost</source>
        <translation>{turns}：{role} 的轮次丢失</translation>
    </message>
    <message>
        <source>there is no {tokenizer}</source>
        <translation>没有 {tokenizer}</translation>
    </message>
    <message>
        <source>{shown} comes back as {back!r}, in transformers as {decoded!r}</source>
        <translation>{shown} 还原为 {back!r}，在 transformers 中为 {decoded!r}</translation>
    </message>
    <message>
        <source>ids as transformers&apos;</source>
        <translation>编号与 transformers 相同</translation>
    </message>
    <message>
        <source>transformers&apos; was not there</source>
        <translation>没有 transformers 的分词器可比较</translation>
    </message>
    <message>
        <source>{num_texts} texts come back as they were; {against}.</source>
        <translation>{num_texts} 段文本还原后与原文相同；{against}。</translation>
    </message>
    <message>
        <source>{shown} becomes {ids}, in transformers {theirs}</source>
        <translation>{shown} 变为 {ids}，在 transformers 中为 {theirs}</translation>
    </message>
    <message>
        <source>it has {size} tokens, the embedding only {rows} rows</source>
        <translation>它有 {size} 个 token，而嵌入只有 {rows} 行</translation>
    </message>
    <message>
        <source>{name}: {reason}.</source>
        <translation>{name}：{reason}。</translation>
    </message>
    <message>
        <source>{shown} comes back as {back!r}</source>
        <translation>{shown} 还原为 {back!r}</translation>
    </message>
    <message>
        <source>{title}: {detail}</source>
        <translation>{title}：{detail}</translation>
    </message>
    <message>
        <source>{reason} ({more} more rows failed)</source>
        <translation>{reason}（另有 {more} 项失败）</translation>
    </message>
    <message>
        <source>It is a native checkpoint and runs as it is.</source>
        <translation>它是本地检查点，可直接运行。</translation>
    </message>
    <message>
        <source>its conversion</source>
        <translation>其转换</translation>
    </message>
    <message>
        <source>access violation</source>
        <translation>访问冲突</translation>
    </message>
    <message>
        <source>illegal instruction</source>
        <translation>非法指令</translation>
    </message>
    <message>
        <source>no memory</source>
        <translation>内存不足</translation>
    </message>
    <message>
        <source>stack overflow</source>
        <translation>栈溢出</translation>
    </message>
    <message>
        <source>heap corruption</source>
        <translation>堆损坏</translation>
    </message>
    <message>
        <source>fail fast</source>
        <translation>快速失败</translation>
    </message>
    <message>
        <source>exit code {code}</source>
        <translation>退出代码 {code}</translation>
    </message>
    <message>
        <source>signal {number}</source>
        <translation>信号 {number}</translation>
    </message>
    <message>
        <source>The {service} process is not running.</source>
        <translation>{service} 进程没有运行。</translation>
    </message>
    <message>
        <source>The server ended by itself; the log has the reason.</source>
        <translation>服务器自行终止了；原因见日志。</translation>
    </message>
</context>
<context>
    <name>Server</name>
    <message>
        <source>off</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>opening…</source>
        <translation>正在打开…</translation>
    </message>
    <message>
        <source>closing…</source>
        <translation>正在关闭…</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>等待中</translation>
    </message>
    <message>
        <source>reading the prompt</source>
        <translation>正在读取提示词</translation>
    </message>
    <message>
        <source>answering</source>
        <translation>正在回答</translation>
    </message>
    <message>
        <source>done</source>
        <translation>完成</translation>
    </message>
    <message>
        <source>cancelled</source>
        <translation>已取消</translation>
    </message>
</context>
<context>
    <name>ServerCard</name>
    <message>
        <source>OpenAI server</source>
        <translation>OpenAI 服务</translation>
    </message>
    <message>
        <source>Base URL</source>
        <translation>基础 URL</translation>
    </message>
    <message>
        <source>Base URL for other machines</source>
        <translation>供其他机器使用的基础 URL</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Use port {n}</source>
        <translation>使用端口 {n}</translation>
    </message>
    <message>
        <source>idle</source>
        <translation>空闲</translation>
    </message>
    <message>
        <source>{n} running  ·  {rate} tok/s</source>
        <translation>{n} 个运行中  ·  {rate} tok/s</translation>
    </message>
    <message>
        <source>The server is off</source>
        <translation>服务已关闭</translation>
    </message>
    <message>
        <source>Opening port {n}…</source>
        <translation>正在打开端口 {n}…</translation>
    </message>
    <message>
        <source>The server is on</source>
        <translation>服务已开启</translation>
    </message>
    <message>
        <source>Closing the port…</source>
        <translation>正在关闭端口…</translation>
    </message>
    <message>
        <source>The server is not running</source>
        <translation>服务没有运行</translation>
    </message>
    <message>
        <source>Programs that speak the OpenAI API can use the model in this window.</source>
        <translation>支持 OpenAI API 的程序可以使用这个窗口中的模型。</translation>
    </message>
    <message>
        <source>{model} answers. The chat in this window goes first.</source>
        <translation>由 {model} 回答。此窗口中的聊天优先。</translation>
    </message>
    <message>
        <source>No model is loaded: requests are answered with 503 until one is.</source>
        <translation>没有加载模型：加载之前，请求会得到 503。</translation>
    </message>
</context>
<context>
    <name>ServerOptionsCard</name>
    <message>
        <source>Options</source>
        <translation>选项</translation>
    </message>
    <message>
        <source>Turn the server off to change these.</source>
        <translation>关闭服务后才能更改这些选项。</translation>
    </message>
    <message>
        <source>Let other machines in</source>
        <translation>允许其他机器访问</translation>
    </message>
    <message>
        <source>Start with the program</source>
        <translation>随程序启动</translation>
    </message>
    <message>
        <source>Keep serving in the tray when the window is closed</source>
        <translation>窗口关闭后在托盘中继续服务</translation>
    </message>
    <message>
        <source>API key</source>
        <translation>API 密钥</translation>
    </message>
    <message>
        <source>None: programs of this machine need no key</source>
        <translation>无：本机的程序不需要密钥</translation>
    </message>
    <message>
        <source>Generate</source>
        <translation>生成</translation>
    </message>
    <message>
        <source>Makes a new key</source>
        <translation>生成新密钥</translation>
    </message>
    <message>
        <source>The system&apos;s keyring cannot be used: kept in a file that only you can read.</source>
        <translation>系统的密钥环无法使用：保存在只有你能读取的文件中。</translation>
    </message>
    <message>
        <source>The system&apos;s keyring does not let go of the key, it may be locked: the key comes back with the next start of the program.</source>
        <translation>系统的密钥环没有删除该密钥，密钥环可能已锁定：下次启动程序时该密钥会再次出现。</translation>
    </message>
    <message>
        <source>Clients that insist on a key may send any.</source>
        <translation>坚持要密钥的客户端可以发送任意内容。</translation>
    </message>
    <message>
        <source>It could not be kept, and ends with the program.</source>
        <translation>无法保存，程序结束后失效。</translation>
    </message>
    <message>
        <source>Kept in the system&apos;s keyring.</source>
        <translation>保存在系统的密钥环中。</translation>
    </message>
    <message>
        <source>Open to every machine of the local network.</source>
        <translation>对局域网内的所有机器开放。</translation>
    </message>
    <message>
        <source>On 127.0.0.1: nothing outside this machine reaches it.</source>
        <translation>位于 127.0.0.1：本机之外无法访问。</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>端口</translation>
    </message>
    <message>
        <source>Opens the port to the local network; then a key is demanded. The connection is not encrypted: anybody on the way can read it.</source>
        <translation>向局域网开放端口，届时必须提供密钥。连接未加密：途中的任何人都能读取。</translation>
    </message>
    <message>
        <source>Network</source>
        <translation>网络</translation>
    </message>
</context>
<context>
    <name>ServerPage</name>
    <message>
        <source>the name of a model</source>
        <translation>模型的名称</translation>
    </message>
    <message>
        <source>Server</source>
        <translation>服务</translation>
    </message>
    <message>
        <source>An OpenAI-compatible port on this machine, for editors, agents and scripts. It answers with the model that is loaded here, up to eight requests at once.</source>
        <translation>本机上兼容 OpenAI 的端口，供编辑器、智能体和脚本使用。由这里加载的模型回答，最多同时处理八个请求。</translation>
    </message>
</context>
<context>
    <name>ServerToggle</name>
    <message>
        <source>OpenAI server</source>
        <translation>OpenAI 服务</translation>
    </message>
    <message>
        <source>Server off</source>
        <translation>服务器已关</translation>
    </message>
    <message>
        <source>Server failed</source>
        <translation>服务器失败</translation>
    </message>
</context>
<context>
    <name>Settings</name>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>Light, dark, or as the system has it.</source>
        <translation>浅色、深色，或跟随系统。</translation>
    </message>
    <message>
        <source>Follow the system</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>Accent</source>
        <translation>强调色</translation>
    </message>
    <message>
        <source>The colour of what is chosen, pressed or linked.</source>
        <translation>选中项、按钮和链接的颜色。</translation>
    </message>
    <message>
        <source>Indigo</source>
        <translation>靛蓝</translation>
    </message>
    <message>
        <source>Blue</source>
        <translation>蓝色</translation>
    </message>
    <message>
        <source>Teal</source>
        <translation>青色</translation>
    </message>
    <message>
        <source>Green</source>
        <translation>绿色</translation>
    </message>
    <message>
        <source>Orange</source>
        <translation>橙色</translation>
    </message>
    <message>
        <source>Pink</source>
        <translation>粉色</translation>
    </message>
    <message>
        <source>Graphite</source>
        <translation>石墨灰</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Of the whole window, at once.</source>
        <translation>整个窗口，立即生效。</translation>
    </message>
    <message>
        <source>Text size</source>
        <translation>文字大小</translation>
    </message>
    <message>
        <source>Of the whole window; Ctrl+= and Ctrl+- change it, too.</source>
        <translation>作用于整个窗口；Ctrl+= 和 Ctrl+- 也可以调整。</translation>
    </message>
    <message>
        <source>Run models on</source>
        <translation>模型运行在</translation>
    </message>
    <message>
        <source>Automatic takes the card when the model fits, and says why when not.</source>
        <translation>自动：模型放得下就用显卡，否则会说明原因。</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>NVIDIA card</source>
        <translation>NVIDIA 显卡</translation>
    </message>
    <message>
        <source>Processor</source>
        <translation>处理器</translation>
    </message>
    <message>
        <source>Reference (slow, exact)</source>
        <translation>参考实现（慢，精确）</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Longest conversation; it costs memory for the KV cache.</source>
        <translation>最长的对话；它会占用 KV 缓存的内存。</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>个 token</translation>
    </message>
    <message>
        <source>as much as fits</source>
        <translation>能放下多少就多少</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV 缓存</translation>
    </message>
    <message>
        <source>8-bit takes half the memory, so that more context fits.</source>
        <translation>8 位只占一半内存，能放下更长的上下文。</translation>
    </message>
    <message>
        <source>16-bit</source>
        <translation>16 位</translation>
    </message>
    <message>
        <source>8-bit</source>
        <translation>8 位</translation>
    </message>
    <message>
        <source>32-bit</source>
        <translation>32 位</translation>
    </message>
    <message>
        <source>Arithmetic of the processor</source>
        <translation>处理器的计算精度</translation>
    </message>
    <message>
        <source>What weights are multiplied with: 8-bit is fast, 32-bit exact.</source>
        <translation>权重与什么相乘：8 位快，32 位精确。</translation>
    </message>
    <message>
        <source>Unload a model that nobody uses</source>
        <translation>卸载无人使用的模型</translation>
    </message>
    <message>
        <source>Its memory is free then; the next message loads it again by itself.</source>
        <translation>届时释放其内存；下一条消息会自动重新加载。</translation>
    </message>
    <message>
        <source>minutes</source>
        <translation>分钟</translation>
    </message>
    <message>
        <source>never</source>
        <translation>从不</translation>
    </message>
    <message>
        <source>Keep what a model has read</source>
        <translation>保留模型读过的内容</translation>
    </message>
    <message>
        <source>KV caches of conversations lie on the disk, at most 2 GiB, so that a long one goes on at once after a restart.</source>
        <translation>对话的 KV 缓存存在磁盘上，最多 2 GiB，这样长对话在重启后可以立即继续。</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系统提示词</translation>
    </message>
    <message>
        <source>Of a new conversation.</source>
        <translation>新对话的系统提示词。</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>温度</translation>
    </message>
    <message>
        <source>Randomness; 0 always takes the likeliest token.</source>
        <translation>随机性；0 表示总是取最可能的 token。</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Keep this many of the likeliest tokens.</source>
        <translation>保留这么多个最可能的 token。</translation>
    </message>
    <message>
        <source>all</source>
        <translation>全部</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Keep the likeliest tokens up to this probability.</source>
        <translation>保留累计概率达到此值的最可能 token。</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Drop tokens below this part of the likeliest.</source>
        <translation>去掉概率低于最可能者此比例的 token。</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>重复惩罚</translation>
    </message>
    <message>
        <source>Above 1 avoids tokens already seen.</source>
        <translation>大于 1 会避开已出现的 token。</translation>
    </message>
    <message>
        <source>When a conversation is longer than the context</source>
        <translation>当对话比上下文长时</translation>
    </message>
    <message>
        <source>A line in the conversation shows from where on the model reads it.</source>
        <translation>对话中会有一条线显示模型从哪里开始读取。</translation>
    </message>
    <message>
        <source>Leave out the oldest turns</source>
        <translation>省略最早的轮次</translation>
    </message>
    <message>
        <source>Refuse to answer</source>
        <translation>拒绝回答</translation>
    </message>
    <message>
        <source>Longest reply</source>
        <translation>最长回复</translation>
    </message>
    <message>
        <source>A reply ends there, whatever it was about to say.</source>
        <translation>回复到此为止，无论还要说什么。</translation>
    </message>
    <message>
        <source>to the end of the context</source>
        <translation>直到上下文结束</translation>
    </message>
    <message>
        <source>Address of the hub</source>
        <translation>服务器地址</translation>
    </message>
    <message>
        <source>Empty: HF_ENDPOINT where it is set, else https://huggingface.co.</source>
        <translation>留空：使用已设置的 HF_ENDPOINT，否则为 https://huggingface.co。</translation>
    </message>
    <message>
        <source>Further addresses</source>
        <translation>其他地址</translation>
    </message>
    <message>
        <source>Asked in this order when the hub does not answer; they get no token of it. With blanks between them.</source>
        <translation>服务器没有回应时按此顺序询问；它们不会得到令牌。用空格分隔。</translation>
    </message>
    <message>
        <source>Files at once</source>
        <translation>同时下载的文件数</translation>
    </message>
    <message>
        <source>So many files of one model are fetched side by side.</source>
        <translation>一个模型的这么多个文件会同时下载。</translation>
    </message>
    <message>
        <source>Folder of Hugging Face</source>
        <translation>Hugging Face 文件夹</translation>
    </message>
    <message>
        <source>Downloads go into its cache, which other programs share. Empty: HF_HOME where it is set, else the usual one. From the next start on.</source>
        <translation>下载内容存入它的缓存，与其他程序共享。留空：使用已设置的 HF_HOME，否则为默认位置。下次启动时生效。</translation>
    </message>
    <message>
        <source>Proxy</source>
        <translation>代理</translation>
    </message>
    <message>
        <source>http://host:port; empty: HTTPS_PROXY where it is set. From the next start on.</source>
        <translation>http://主机:端口；留空：使用已设置的 HTTPS_PROXY。下次启动时生效。</translation>
    </message>
</context>
<context>
    <name>SettingsPage</name>
    <message>
        <source>Topics</source>
        <translation>主题分类</translation>
    </message>
    <message>
        <source>Reset to defaults</source>
        <translation>恢复默认值</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>外观</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>New conversations</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Downloads</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
</context>
<context>
    <name>ShortageBanner</name>
    <message>
        <source>{needed} are needed: {weights} for weights, {kv} for a context of {context} tokens, {workspace} to work in. {free} of {total} are free on the {place}.</source>
        <translation>需要 {needed}：权重 {weights}，{context} 个 token 的上下文 {kv}，工作区 {workspace}。{place} 共 {total}，可用 {free}。</translation>
    </message>
    <message>
        <source>{needed} are needed: {weights} for weights, {kv} for a context of {context} tokens, {workspace} to work in. {free} of the computer&apos;s {total} are free.</source>
        <translation>需要 {needed}：权重 {weights}，{context} 个 token 的上下文 {kv}，工作区 {workspace}。电脑共 {total}，可用 {free}。</translation>
    </message>
    <message>
        <source>Held by {names}</source>
        <translation>占用者：{names}</translation>
    </message>
    <message>
        <source>Context of {n} tokens</source>
        <translation>上下文 {n} 个 token</translation>
    </message>
    <message>
        <source>8-bit KV cache: {n} tokens</source>
        <translation>8 位 KV 缓存：{n} 个 token</translation>
    </message>
    <message>
        <source>Convert to 3 bits ({size}): {n} tokens</source>
        <translation>转换为 3 位（{size}）：{n} 个 token</translation>
    </message>
</context>
<context>
    <name>ShortageBar</name>
    <message>
        <source>Free of what is needed: {n} %</source>
        <translation>可用占所需的 {n} %</translation>
    </message>
</context>
<context>
    <name>Shortcuts</name>
    <message>
        <source>Conversation</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Writing</source>
        <translation>书写</translation>
    </message>
    <message>
        <source>Library</source>
        <translation>模型库</translation>
    </message>
    <message>
        <source>Pages</source>
        <translation>页面</translation>
    </message>
    <message>
        <source>Window</source>
        <translation>窗口</translation>
    </message>
    <message>
        <source>Show this list</source>
        <translation>显示此列表</translation>
    </message>
    <message>
        <source>Convert a file</source>
        <translation>转换文件</translation>
    </message>
    <message>
        <source>Larger text</source>
        <translation>放大文字</translation>
    </message>
    <message>
        <source>Smaller text</source>
        <translation>缩小文字</translation>
    </message>
    <message>
        <source>Text of the usual size</source>
        <translation>恢复文字大小</translation>
    </message>
    <message>
        <source>Close the window</source>
        <translation>关闭窗口</translation>
    </message>
    <message>
        <source>Send the message</source>
        <translation>发送消息</translation>
    </message>
    <message>
        <source>Start a new line</source>
        <translation>换行</translation>
    </message>
    <message>
        <source>Show the model in the file manager</source>
        <translation>在文件管理器中显示模型</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Search the conversations</source>
        <translation>搜索对话</translation>
    </message>
    <message>
        <source>Stop the reply</source>
        <translation>停止回复</translation>
    </message>
    <message>
        <source>Ask for another reply</source>
        <translation>重新生成回复</translation>
    </message>
    <message>
        <source>Let the reply go on</source>
        <translation>继续回复</translation>
    </message>
    <message>
        <source>Show or hide the conversations</source>
        <translation>显示或隐藏对话列表</translation>
    </message>
    <message>
        <source>Show or hide the settings and plots</source>
        <translation>显示或隐藏设置与图表</translation>
    </message>
</context>
<context>
    <name>ShortcutsDialog</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>SidePanel</name>
    <message>
        <source>The server answers, too ({n} running); the chat goes first.</source>
        <translation>服务也在回答（{n} 个运行中）；聊天优先。</translation>
    </message>
</context>
<context>
    <name>SourceCard</name>
    <message>
        <source>{before} → {after}</source>
        <translation>{before} → {after}</translation>
    </message>
    <message>
        <source>{n} parameters</source>
        <translation>{n} 个参数</translation>
    </message>
    <message>
        <source>{n} layers</source>
        <translation>{n} 层</translation>
    </message>
    <message>
        <source>{size} of memory</source>
        <translation>内存 {size}</translation>
    </message>
    <message>
        <source>into the library as {name}</source>
        <translation>存入模型库，名为 {name}</translation>
    </message>
</context>
<context>
    <name>SourceDialog</name>
    <message>
        <source>Choose a model folder</source>
        <translation>选择模型文件夹</translation>
    </message>
    <message>
        <source>Choose a model file</source>
        <translation>选择模型文件</translation>
    </message>
    <message>
        <source>GGUF models (*.gguf)</source>
        <translation>GGUF 模型 (*.gguf)</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>所有文件 (*)</translation>
    </message>
</context>
<context>
    <name>SourceField</name>
    <message>
        <source>File…</source>
        <translation>文件…</translation>
    </message>
    <message>
        <source>Folder…</source>
        <translation>文件夹…</translation>
    </message>
    <message>
        <source>Choose a file</source>
        <translation>选择文件</translation>
    </message>
    <message>
        <source>Choose a folder</source>
        <translation>选择文件夹</translation>
    </message>
</context>
<context>
    <name>StepStrip</name>
    <message>
        <source>Progress per layer</source>
        <translation>各层进度</translation>
    </message>
    <message>
        <source>{done} of {total} parts written</source>
        <translation>已写入 {done} / {total} 个部分</translation>
    </message>
</context>
<context>
    <name>TextSegment</name>
    <message>
        <source>Text</source>
        <translation>文本</translation>
    </message>
</context>
<context>
    <name>ThoughtsSection</name>
    <message>
        <source>Thoughts</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>Thinking… {n} words</source>
        <translation>正在思考… {n} 个词</translation>
    </message>
    <message>
        <source>Thoughts, {n} words</source>
        <translation>思考过程，{n} 个词</translation>
    </message>
</context>
<context>
    <name>TokenCard</name>
    <message>
        <source>Token</source>
        <translation>令牌</translation>
    </message>
    <message>
        <source>Save and try again</source>
        <translation>保存并重试</translation>
    </message>
    <message>
        <source>Forget the token</source>
        <translation>忘记令牌</translation>
    </message>
    <message>
        <source>Token for {host}</source>
        <translation>{host} 的令牌</translation>
    </message>
    <message>
        <source>It is sent to {host} and to no other.</source>
        <translation>它只会发送给 {host}。</translation>
    </message>
    <message>
        <source>No token is kept.</source>
        <translation>没有保存令牌。</translation>
    </message>
    <message>
        <source>A token is kept in the system&apos;s keyring.</source>
        <translation>令牌保存在系统的密钥环中。</translation>
    </message>
    <message>
        <source>The system&apos;s keyring cannot be used: the token is kept until the program ends.</source>
        <translation>系统的密钥环无法使用：令牌保留到程序结束为止。</translation>
    </message>
    <message>
        <source>The token of HF_TOKEN or of a login is taken.</source>
        <translation>使用 HF_TOKEN 或已登录的令牌。</translation>
    </message>
    <message>
        <source>The token could not be saved, forgotten or looked up: {reason}</source>
        <translation>无法保存、删除或查询令牌：{reason}</translation>
    </message>
    <message>
        <source>Open {link}</source>
        <translation>打开 {link}</translation>
    </message>
</context>
<context>
    <name>TranscriptView</name>
    <message>
        <source>Show earlier messages</source>
        <translation>显示更早的消息</translation>
    </message>
    <message>
        <source>Jump to the end</source>
        <translation>跳到末尾</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>对话</translation>
    </message>
</context>
<context>
    <name>Tray</name>
    <message>
        <source>Show the window</source>
        <translation>显示窗口</translation>
    </message>
    <message>
        <source>OpenAI server</source>
        <translation>OpenAI 服务</translation>
    </message>
    <message>
        <source>Copy the base URL</source>
        <translation>复制基础 URL</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <source>The server goes on; quit it here.</source>
        <translation>服务继续运行；可在这里退出。</translation>
    </message>
    <message>
        <source>DeepInfer, server {state}</source>
        <translation>DeepInfer，服务{state}</translation>
    </message>
</context>
<context>
    <name>UserCard</name>
    <message>
        <source>You</source>
        <translation>你</translation>
    </message>
    <message>
        <source>Your message</source>
        <translation>你的消息</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>复制消息</translation>
    </message>
    <message>
        <source>Edit and ask again</source>
        <translation>编辑并重新提问</translation>
    </message>
    <message>
        <source>Delete this message</source>
        <translation>删除此消息</translation>
    </message>
    <message>
        <source>Ask again</source>
        <translation>重新提问</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Edit your message</source>
        <translation>编辑你的消息</translation>
    </message>
</context>
<context>
    <name>ValidatePage</name>
    <message>
        <source>Source to check</source>
        <translation>要检查的来源</translation>
    </message>
    <message>
        <source>org/name, a .gguf file, a folder, or a model of the library</source>
        <translation>org/name、.gguf 文件、文件夹，或模型库中的模型</translation>
    </message>
    <message>
        <source>Check</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>Check a model before it is fetched</source>
        <translation>下载之前先检查模型</translation>
    </message>
    <message>
        <source>Drop one here, or name a repository: its architecture is compared with the reference implementation, from the configuration alone. With weights at hand, logits, tokens, tokenizer and chat template are checked, too.</source>
        <translation>把模型拖到这里，或输入仓库名称：仅凭配置就能将其架构与参考实现进行比较。如果手边有权重，还会检查 logits、token、分词器和聊天模板。</translation>
    </message>
    <message>
        <source>Choose a file…</source>
        <translation>选择文件…</translation>
    </message>
    <message>
        <source>Choose a folder…</source>
        <translation>选择文件夹…</translation>
    </message>
    <message>
        <source>{name} was not validated</source>
        <translation>{name} 没有完成检查</translation>
    </message>
    <message>
        <source>Cancelled</source>
        <translation>已取消</translation>
    </message>
    <message>
        <source>Validate</source>
        <translation>检查</translation>
    </message>
</context>
<context>
    <name>VerdictCard</name>
    <message>
        <source>Save report…</source>
        <translation>保存报告…</translation>
    </message>
    <message>
        <source>Convert it</source>
        <translation>转换它</translation>
    </message>
    <message>
        <source>Copy the report</source>
        <translation>复制报告</translation>
    </message>
    <message>
        <source>Not verified, in {time} of checking:</source>
        <translation>检查用时 {time}，尚未核实：</translation>
    </message>
    <message>
        <source>✕ Refused</source>
        <translation>✕ 不支持</translation>
    </message>
    <message>
        <source>✕ {n} of {total} checks failed</source>
        <translation>✕ {total} 项检查中有 {n} 项失败</translation>
    </message>
    <message>
        <source>✓ Runs after conversion</source>
        <translation>✓ 转换后可运行</translation>
    </message>
    <message>
        <source>✓ Runs</source>
        <translation>✓ 可运行</translation>
    </message>
</context>
<context>
    <name>VersionSwitch</name>
    <message>
        <source>Earlier version</source>
        <translation>较早版本</translation>
    </message>
    <message>
        <source>Later version</source>
        <translation>较晚版本</translation>
    </message>
    <message>
        <source>Version {n} of {total}</source>
        <translation>第 {n} 个版本，共 {total} 个</translation>
    </message>
</context>
<context>
    <name>_TimePlot</name>
    <message>
        <source>{time} ago</source>
        <translation>{time}前</translation>
    </message>
</context>
</TS>
