import type { Entry } from './listing.ts'

/** The kinds of entries that a person tells apart at a glance. */
export type EntryKind =
  | 'folder'
  | 'picture'
  | 'audio'
  | 'video'
  | 'document'
  | 'table'
  | 'slides'
  | 'text'
  | 'code'
  | 'archive'
  | 'program'
  | 'other'

const extensions: Readonly<Record<Exclude<EntryKind, 'folder' | 'other'>, string>> = {
  picture:
    'jpg jpeg jfif png gif webp avif heic heif bmp tif tiff svg ico psd xcf raw cr2 cr3 nef arw dng jxl',
  audio: 'mp3 m4a aac flac ogg oga opus wav wma aif aiff mid midi amr',
  video: 'mp4 m4v mov mkv webm avi wmv mpg mpeg 3gp flv mts m2ts ogv',
  document: 'pdf doc docx odt rtf epub mobi azw3 djvu pages',
  table: 'xls xlsx xlsm ods csv tsv numbers',
  slides: 'ppt pptx odp key',
  text: 'txt text md markdown rst log tex ics vcf eml srt vtt',
  code: 'html htm css scss js mjs cjs jsx ts tsx json jsonl yaml yml toml ini xml sql sh py rb php java kt c h cpp cs go rs swift lua',
  archive: 'zip tar gz tgz bz2 xz zst 7z rar iso dmg car',
  program: 'wasm exe msi app apk deb rpm jar',
}

const kindByExtension = new Map(
  Object.entries(extensions).flatMap(([kind, names]) =>
    names.split(' ').map((name) => [name, kind as EntryKind] as const),
  ),
)

/** The kind of an entry, by the extension of its name. */
export function kindOf({ name, type }: Pick<Entry, 'name' | 'type'>): EntryKind {
  if (type === 'directory') return 'folder'
  return kindByExtension.get(extensionOf(name)) ?? 'other'
}

/** The extension of a name in lower case, without its dot; empty if it has none. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.')
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : ''
}
