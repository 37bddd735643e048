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
        <source>Try again</source>
        <translation>重试</translation>
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
    <message>
        <source>the model</source>
        <translation>模型</translation>
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
</context>
<context>
    <name>ConversationPanel</name>
    <message>
        <source>New chat (Ctrl+N)</source>
        <translation>新对话（Ctrl+N）</translation>
    </message>
    <message>
        <source>Import and export</source>
        <translation>导入和导出</translation>
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
        <source>Show the {n} that are the same</source>
        <translation>显示相同的 {n} 项</translation>
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
        <source>Search for a model, or name a repository: you see whether it runs and how much context fits this machine before a byte of its weights is fetched. Files go into the standard Hugging Face cache, resume after anything, and are verified. Nothing is sent but the requests for them.</source>
        <translation>搜索模型，或输入仓库名：在下载任何权重之前，就能看到它能否运行、本机放得下多长的上下文。文件存入标准的 Hugging Face 缓存，任何中断后都能续传，并会校验。除了这些请求，不发送任何数据。</translation>
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
        <source>Loading {name}…</source>
        <translation>正在加载 {name}…</translation>
    </message>
    <message>
        <source>A moment.</source>
        <translation>请稍候。</translation>
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
    <name>ErrorHook</name>
    <message>
        <source>Something went wrong inside the program; it goes on running.</source>
        <translation>程序内部出了问题；程序会继续运行。</translation>
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
        <translation>{when}在此加载</translation>
    </message>
    <message>
        <source>Read {when}, as the file system says</source>
        <translation>{when}读取（据文件系统）</translation>
    </message>
    <message>
        <source>Changed {when}; when it was read is not known</source>
        <translation>{when}更改；不知何时被读取</translation>
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
        <source>Items: {count}, {size}  ·  {free} of {all} free</source>
        <translation>{count} 项，{size}  ·  剩余 {free}，共 {all}</translation>
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
        <source>{name}: CUDA itself {context}; graphs replayed: {count}, busy {busy}</source>
        <translation>{name}：CUDA 自身占用 {context}；已重放 {count} 次图，忙碌 {busy}</translation>
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
    <name>MainWindow</name>
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
        <translation>新建文件夹</translation>
    </message>
    <message>
        <source>Browse…</source>
        <translation>浏览…</translation>
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
        <source>{count} items</source>
        <translation>{count} 项</translation>
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
        <source>{reason} It takes {size}, and nothing brings it back.</source>
        <translation>{reason} 它占用 {size}，删除后无法恢复。</translation>
    </message>
    <message>
        <source>It takes {size}, which are free once the trash is emptied.</source>
        <translation>它占用 {size}，清空回收站后释放。</translation>
    </message>
    <message>
        <source>Other programs that use the Hugging Face cache lose it, too.</source>
        <translation>使用 Hugging Face 缓存的其他程序也会失去它。</translation>
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
        <source>prompt {n}</source>
        <translation>提示词 {n}</translation>
    </message>
    <message>
        <source>{n} of them cached</source>
        <translation>其中 {n} 个来自缓存</translation>
    </message>
    <message>
        <source>{n} tokens</source>
        <translation>{n} 个 token</translation>
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
        <source>complete</source>
        <translation>完整</translation>
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
        <source>Reading the prompt… {done} of {total} tokens</source>
        <translation>正在读取提示词… {done} / {total} 个 token</translation>
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
        <source>Go on downloading</source>
        <translation>继续下载</translation>
    </message>
    <message>
        <source>To the list (all of it is here)</source>
        <translation>加入列表（已全部在本机）</translation>
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
        <source>Nothing runs. Requests show up here while they do.</source>
        <translation>没有请求在运行。请求运行时会显示在这里。</translation>
    </message>
    <message>
        <source>Clear</source>
        <translation>清空</translation>
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
</context>
<context>
    <name>ResultsCard</name>
    <message>
        <source>Repositories that were found</source>
        <translation>找到的仓库</translation>
    </message>
    <message>
        <source>Look at it</source>
        <translation>查看</translation>
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
        <source>The server could not start</source>
        <translation>服务无法启动</translation>
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
        <source>This system has no keyring: kept in a file that only you can read.</source>
        <translation>本系统没有密钥环：保存在只有你能读取的文件中。</translation>
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
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>From the next start on.</source>
        <translation>下次启动时生效。</translation>
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
        <source>This system has no keyring: the token is kept until the program ends.</source>
        <translation>本系统没有密钥环：令牌保留到程序结束。</translation>
    </message>
    <message>
        <source>The token of HF_TOKEN or of a login is taken.</source>
        <translation>使用 HF_TOKEN 或已登录的令牌。</translation>
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
        <source>Drop a model here, or name a repository: its architecture is compared with the reference implementation before anyone downloads gigabytes. Of a repository only the configuration is read; with weights at hand, logits, tokens, tokenizer and chat template are checked, too.</source>
        <translation>把模型拖到这里，或输入仓库名：在下载几个 GB 之前，先把它的架构与参考实现对照。对于仓库，只读取配置；有权重时，还会检查 logits、token、分词器和聊天模板。</translation>
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
        <source>✕ {n} checks failed</source>
        <translation>✕ {n} 项检查失败</translation>
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
