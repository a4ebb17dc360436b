import { extname } from 'node:path'
import type { TextFormat } from './inside/order.ts'

/** The types of entries that a search can be narrowed to. */
export const kinds = ['picture', 'audio', 'video', 'document', 'text', 'archive', 'folder'] as const

/** The type of an entry; `other` for a file of none of the types. */
export type Kind = (typeof kinds)[number] | 'other'

const extensions: Readonly<Record<Exclude<Kind, 'folder' | 'other'>, string>> = {
  picture:
    'jpg jpeg jpe png gif webp avif heic heif bmp tif tiff svg ico psd xcf raw cr2 cr3 nef arw dng orf rw2 raf jxl',
  audio: 'mp3 m4a aac flac ogg oga opus wav wma aif aiff mid midi amr ape',
  video: 'mp4 m4v mov mkv webm avi wmv mpg mpeg mpe 3gp 3g2 flv mts m2ts vob ogv',
  document:
    'pdf doc docx docm odt ott rtf xls xlsx xlsm ods ppt pptx pptm odp epub mobi azw3 djvu pages numbers key',
  text: `txt text md markdown mdx rst adoc org tex log csv tsv json jsonl json5 yaml yml toml ini cfg conf env properties xml xsl xslt
    html htm xhtml css scss sass less js mjs cjs jsx ts mts cts tsx vue svelte py pyi rb php java kt kts scala groovy c h cc cpp cxx hh hpp
    cs fs go rs swift m mm pl pm lua r jl dart ex exs erl hs clj lisp el ml sql sh bash zsh fish ps1 bat cmd awk diff patch ics vcf eml srt
    vtt bib gitignore dockerfile makefile cmake gradle tf proto graphql`,
  archive: 'zip tar gz tgz bz2 tbz xz txz zst 7z rar lz lzma lz4 cab iso dmg jar war apk deb rpm',
}

const kindByExtension = new Map<string, Kind>()
for (const [kind, names] of Object.entries(extensions))
  for (const name of names.split(/\s+/))
    if (!kindByExtension.has(name)) kindByExtension.set(name, kind as Kind)

/** Files that have other things than text, and no other type. */
const otherExtensions = new Set(
  'exe dll so dylib bin dat db sqlite sqlite3 wal class o a pyc wasm ttf otf woff woff2 eot img vmdk qcow2 vdi bak tmp part'.split(
    ' ',
  ),
)

const pages = new Set(['html', 'htm', 'xhtml'])

/** The most bytes of a file that is tried as a text because nothing tells its type. */
const mostUnknownBytes = 1024 ** 2

/** The type of an entry, by its extension. */
export function kindOf({ name, type }: { readonly name: string; readonly type: 'file' | 'directory' }): Kind {
  return type === 'directory' ? 'folder' : (kindByExtension.get(extensionOf(name)) ?? 'other')
}

/** The format of the text of a file, by its extension; null if it has none. */
export function formatOf({
  name,
  size,
}: {
  readonly name: string
  readonly size: number
}): TextFormat | null {
  const extension = extensionOf(name)
  if (pages.has(extension)) return 'html'
  if (extension === 'pdf') return 'pdf'
  const kind = kindByExtension.get(extension)
  if (kind === 'text') return 'text'
  const isUnknown = kind === undefined && !otherExtensions.has(extension)
  return isUnknown && size <= mostUnknownBytes ? 'text' : null
}

/** In lower case, without its dot. A name without one, such as `Makefile` and `.gitignore`, counts as its own extension. */
function extensionOf(name: string): string {
  const extension = extname(name).slice(1)
  return (extension === '' ? name.replace(/^\./, '') : extension).toLowerCase()
}
