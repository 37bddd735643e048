; Per-user installer: no administrator. Defined on the command line (bundling/installer.py):
; VERSION, NUMBERS (four of them), SOURCE (the bundle), ICON, OUT, SIZE_KB.
;   setup.exe /S              silently, into %LOCALAPPDATA%\Programs\DeepInfer
;   setup.exe /S /DEFAULT     .gguf files open with it from now on
;   setup.exe /S /D=C:\place  elsewhere (last on the line, no quotation marks)
;   uninstall.exe /S          models, chats and settings in %LOCALAPPDATA%\DeepInfer stay
Unicode true
Target amd64-unicode
ManifestDPIAware true
RequestExecutionLevel user
SetCompressor /SOLID lzma
SetCompressorDictSize 32 ; MiB, which unpacking takes as memory
Name "DeepInfer"
OutFile "${OUT}"
InstallDir "$LOCALAPPDATA\Programs\DeepInfer"
InstallDirRegKey HKCU "Software\DeepInfer" "InstallDir"

!include MUI2.nsh
!include FileFunc.nsh
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\DeepInfer"
!define PROGID "DeepInfer.gguf"
!define CLASSES "Software\Classes"
!define PROGRAM "deepinfer-desktop.exe"

VIProductVersion "${NUMBERS}"
VIAddVersionKey ProductName "DeepInfer Desktop"
VIAddVersionKey CompanyName "DeepInfer contributors"
VIAddVersionKey FileDescription "DeepInfer setup"
VIAddVersionKey FileVersion "${VERSION}"
VIAddVersionKey ProductVersion "${VERSION}"
VIAddVersionKey LegalCopyright "Apache License 2.0"

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_FINISHPAGE_RUN "$INSTDIR\${PROGRAM}"
!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_LICENSE "${SOURCE}\_internal\LICENSE"
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "SimpChinese"
!insertmacro MUI_LANGUAGE "German"

LangString IN_USE ${LANG_ENGLISH} "DeepInfer is running. Close it, then try again."
LangString IN_USE ${LANG_SIMPCHINESE} "DeepInfer 正在运行。请先关闭它，然后重试。"
LangString IN_USE ${LANG_GERMAN} "DeepInfer läuft noch. Schließen Sie es und versuchen Sie es dann erneut."

; A program that runs cannot be opened for writing. The error level is 2 in a silent run.
!macro RefuseWhileRunning un
Function ${un}RefuseWhileRunning
  again:
  IfFileExists "$INSTDIR\${PROGRAM}" 0 free
  ClearErrors
  FileOpen $0 "$INSTDIR\${PROGRAM}" a
  IfErrors busy
  FileClose $0
  Goto free
  busy:
  MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(IN_USE)" /SD IDCANCEL IDRETRY again
  SetErrorLevel 2
  Abort "$(IN_USE)"
  free:
FunctionEnd
!macroend
!insertmacro RefuseWhileRunning ""
!insertmacro RefuseWhileRunning "un."

; Never the whole folder: it may be one that the user chose and keeps other things in.
!macro RemoveProgram
  RMDir /r "$INSTDIR\_internal"
  Delete "$INSTDIR\deepinfer-desktop.exe"
  Delete "$INSTDIR\deepinfer.exe"
  Delete "$INSTDIR\THIRD_PARTY_LICENSES.txt"
  Delete "$INSTDIR\sbom.cdx.json"
  Delete "$INSTDIR\README.txt"
  Delete "$INSTDIR\qt.conf"
!macroend

!macro Shortcut place
  CreateShortCut "${place}" "$INSTDIR\${PROGRAM}" "" "$INSTDIR\${PROGRAM}" 0 SW_SHOWNORMAL "" "Converts models and chats with them"
!macroend

!macro TellShell
  ; SHCNE_ASSOCCHANGED: icons and menus of .gguf files are read anew.
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
!macroend

Section "DeepInfer" SEC_PROGRAM
  SectionIn RO
  Call RefuseWhileRunning
  !insertmacro RemoveProgram
  SetOutPath "$INSTDIR"
  File /r "${SOURCE}\*.*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  !insertmacro Shortcut "$SMPROGRAMS\DeepInfer.lnk"
  WriteRegStr HKCU "Software\DeepInfer" "InstallDir" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "DeepInfer"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "Publisher" "DeepInfer contributors"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\${PROGRAM},0"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "EstimatedSize" ${SIZE_KB}
SectionEnd

Section "Open .gguf files with DeepInfer" SEC_OPEN_WITH
  WriteRegStr HKCU "${CLASSES}\${PROGID}" "" "GGUF model"
  WriteRegStr HKCU "${CLASSES}\${PROGID}\DefaultIcon" "" "$INSTDIR\${PROGRAM},0"
  WriteRegStr HKCU "${CLASSES}\${PROGID}\shell\open\command" "" '"$INSTDIR\${PROGRAM}" "%1"'
  WriteRegNone HKCU "${CLASSES}\.gguf\OpenWithProgids" "${PROGID}"
  WriteRegStr HKCU "${CLASSES}\Applications\${PROGRAM}\shell\open\command" "" '"$INSTDIR\${PROGRAM}" "%1"'
  WriteRegStr HKCU "${CLASSES}\Applications\${PROGRAM}\SupportedTypes" ".gguf" ""
  WriteRegStr HKCU "Software\DeepInfer\Capabilities" "ApplicationName" "DeepInfer"
  WriteRegStr HKCU "Software\DeepInfer\Capabilities" "ApplicationDescription" "Converts models and chats with them"
  WriteRegStr HKCU "Software\DeepInfer\Capabilities\FileAssociations" ".gguf" "${PROGID}"
  WriteRegStr HKCU "Software\RegisteredApplications" "DeepInfer" "Software\DeepInfer\Capabilities"
  !insertmacro TellShell
SectionEnd

Section /o "Make DeepInfer the default for .gguf files" SEC_DEFAULT
  ReadRegStr $0 HKCU "${CLASSES}\.gguf" ""
  StrCmp $0 "${PROGID}" kept
  WriteRegStr HKCU "Software\DeepInfer" "DefaultBefore" "$0"
  WriteRegStr HKCU "${CLASSES}\.gguf" "" "${PROGID}"
  kept:
  !insertmacro TellShell
SectionEnd

Section /o "Shortcut on the desktop" SEC_DESKTOP
  !insertmacro Shortcut "$DESKTOP\DeepInfer.lnk"
SectionEnd

!insertmacro MUI_FUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${SEC_PROGRAM} "The program, its command line and the start menu's entry."
  !insertmacro MUI_DESCRIPTION_TEXT ${SEC_OPEN_WITH} "DeepInfer is offered in the menu Open with."
  !insertmacro MUI_DESCRIPTION_TEXT ${SEC_DEFAULT} "A double click on a .gguf file opens DeepInfer, unless you have chosen another program in Windows' settings."
!insertmacro MUI_FUNCTION_DESCRIPTION_END

Function .onInit
  ${GetParameters} $R0
  ClearErrors
  ${GetOptions} "$R0" "/DEFAULT" $R1
  IfErrors unasked ; a label: the macro is several instructions
  !insertmacro SelectSection ${SEC_DEFAULT}
  unasked:
FunctionEnd

Section "Uninstall"
  Call un.RefuseWhileRunning
  !insertmacro RemoveProgram
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\DeepInfer.lnk"
  Delete "$DESKTOP\DeepInfer.lnk"
  ReadRegStr $0 HKCU "${CLASSES}\.gguf" ""
  StrCmp $0 "${PROGID}" 0 foreign
  ReadRegStr $1 HKCU "Software\DeepInfer" "DefaultBefore"
  WriteRegStr HKCU "${CLASSES}\.gguf" "" "$1"
  StrCmp $1 "" 0 foreign
  DeleteRegValue HKCU "${CLASSES}\.gguf" ""
  foreign:
  DeleteRegValue HKCU "${CLASSES}\.gguf\OpenWithProgids" "${PROGID}"
  DeleteRegKey /ifempty HKCU "${CLASSES}\.gguf\OpenWithProgids"
  DeleteRegKey /ifempty HKCU "${CLASSES}\.gguf"
  DeleteRegKey HKCU "${CLASSES}\${PROGID}"
  DeleteRegKey HKCU "${CLASSES}\Applications\${PROGRAM}"
  DeleteRegKey /ifempty HKCU "${CLASSES}\Applications"
  DeleteRegValue HKCU "Software\RegisteredApplications" "DeepInfer"
  DeleteRegKey HKCU "Software\DeepInfer"
  DeleteRegKey HKCU "${UNINSTALL}"
  !insertmacro TellShell
SectionEnd
