/** The kinds of files that people tell apart, each with the extensions of its names. */
const extensions = {
  picture:
    'jpg jpeg jpe jfif png gif webp avif heic heif bmp tif tiff svg ico psd xcf raw cr2 cr3 nef arw dng orf rw2 raf jxl',
  audio: 'mp3 m4a m4b aac flac ogg oga opus wav wma aif aiff mid midi amr ape',
  video: 'mp4 m4v mov mkv webm avi wmv mpg mpeg mpe 3gp 3g2 flv mts m2ts vob ogv',
  document: 'pdf doc docx docm odt ott rtf epub mobi azw3 djvu pages',
  table: 'xls xlsx xlsm ods csv tsv numbers',
  slides: 'ppt pptx pptm odp key',
  text: 'txt text md markdown mdx rst adoc org tex log ics vcf eml srt vtt bib',
  code: `html htm xhtml css scss sass less js mjs cjs jsx ts mts cts tsx vue svelte json jsonl json5 yaml yml toml ini cfg conf env properties
    xml xsl xslt py pyi rb php java kt kts scala groovy c h cc cpp cxx hh hpp cs fs go rs swift m mm pl pm lua r jl dart ex exs erl hs clj
    lisp el ml sql sh bash zsh fish ps1 bat cmd awk diff patch cmake gradle tf proto graphql gitignore dockerfile makefile`,
  archive: 'zip tar gz tgz bz2 tbz xz txz zst 7z rar lz lzma lz4 cab iso dmg car jar war apk deb rpm',
  program: 'exe msi app dll so dylib bin wasm o a class pyc',
} as const

/** The kind of a file; `other` for a file of none. */
export type FileKind = keyof typeof extensions | 'other'

const kindByExtension = new Map(
  Object.entries(extensions).flatMap(([kind, names]) =>
    names.split(/\s+/).map((name) => [name, kind as FileKind] as const),
  ),
)

/** The kind of a file, by its name. */
export function fileKindOf(name: string): FileKind {
  const extension = extensionOf(name)
  if (extension !== '') return kindByExtension.get(extension) ?? 'other'
  // Only of texts it is known that the whole name tells the kind: `Makefile`, `.env`, `log`.
  const kind = kindByExtension.get(name.replace(/^\./, '').toLowerCase())
  return kind === 'text' || kind === 'code' ? kind : 'other'
}

/** The extension of a name in lower case, without its dot; empty if it has none. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.')
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : ''
}
