#!/bin/sh
# For this user alone: a menu entry, the type of .gguf files, `deepinfer` in ~/.local/bin.
# `install.sh --remove` takes them away again; models and chats stay. The folder stays where it is.
set -eu
here=$(dirname "$(readlink -f "$0")")
data=${XDG_DATA_HOME:-$HOME/.local/share}
entry=$data/applications/deepinfer.desktop
type=$data/mime/packages/deepinfer.xml
icon=$data/icons/hicolor/256x256/apps/deepinfer.png
command=$HOME/.local/bin/deepinfer
if [ "${1:-}" = "--remove" ]; then
    rm -f "$entry" "$type" "$icon" "$command"
else
    mkdir -p "$(dirname "$entry")" "$(dirname "$type")" "$(dirname "$icon")" "$(dirname "$command")"
    cp "$here/usr/share/mime/packages/deepinfer.xml" "$type"
    cp "$here/usr/share/icons/hicolor/256x256/apps/deepinfer.png" "$icon"
    ln -sf "$here/usr/lib/DeepInfer/deepinfer" "$command"
    # The desktop entry's own quoting: a backslash before these, within quotation marks.
    program=$(printf '%s' "$here/usr/lib/DeepInfer/deepinfer-desktop" | sed 's/[\\"`$]/\\\\&/g')
    while IFS= read -r line; do
        case $line in
            Exec=*) printf 'Exec="%s" %%f\n' "$program" ;;
            *) printf '%s\n' "$line" ;;
        esac
    done < "$here/deepinfer.desktop" > "$entry"
fi
command -v update-mime-database > /dev/null && update-mime-database "$data/mime" || true
command -v update-desktop-database > /dev/null && update-desktop-database "$data/applications" || true
