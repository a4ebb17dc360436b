import type { FolderEntry } from '../unixfs/unixfs-node.ts'

/** Entries that a page shows. */
export const mostShown = 10_000

/** Entries in a piece of the page. */
const rowsAtOnce = 500

interface FolderPageOptions {
  /** The path of the URL of the folder, encoded. */
  readonly text: string
  /** The names that lead to the folder. */
  readonly names: readonly string[]
  /** In any order: at most {@link mostShown}. */
  readonly entries: readonly FolderEntry[]
  /** Whether the folder has more entries. */
  readonly isCut: boolean
}

/** Only styles, and no scripts: the names are those of a stranger. Unlike stored pages, this one may begin downloads. */
export const folderPageSecurity = "default-src 'none'; style-src 'unsafe-inline'; sandbox allow-downloads"

const style = `
  :root { color-scheme: light dark }
  body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
  h1 { font-size: 1.2rem; overflow-wrap: anywhere }
  table { border-collapse: collapse; width: 100% }
  td { padding: .2rem .5rem; overflow-wrap: anywhere }
  td:last-child { text-align: right; white-space: nowrap }
`

/** Yields the page that lists a published folder, some entries at a time. */
export function* folderPage({ text, names, entries, isCut }: FolderPageOptions): Generator<Uint8Array> {
  // With the whole path in each link, a deep folder would have a page of 100 MB.
  yield Buffer.from(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<base href="${escaped(text)}/">
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="no-referrer">
<title>${escaped(names.at(-1) ?? 'Published folder')}</title>
<style>${style}</style>
<h1>Index of ${names.length === 0 ? escaped(text) : bdi(`/${names.join('/')}`)}</h1>
<table>
${names.length === 0 ? '' : row(text.slice(0, text.lastIndexOf('/')), '..', '')}`)
  const sorted = entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  for (let start = 0; start < sorted.length; start += rowsAtOnce) {
    const rows = sorted
      .slice(start, start + rowsAtOnce)
      .map(({ name, size }) => row(`./${encodeURIComponent(name)}`, name, sizeText(size)))
    yield Buffer.from(rows.join(''))
  }
  yield Buffer.from(`</table>
${isCut ? `<p>The folder has more entries than the ${mostShown} of this page.</p>\n` : ''}<p><a href="${escaped(text)}?format=car">Download everything as a CAR</a></p>
</html>
`)
}

function row(link: string, name: string, size: string): string {
  return `<tr><td><a href="${escaped(link)}">${bdi(name)}</a></td><td>${size}</td></tr>\n`
}

/** A name can change the direction of the text around it. */
function bdi(text: string): string {
  return `<bdi>${escaped(text)}</bdi>`
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

function sizeText(bytes: number): string {
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${(bytes / 1024 ** unit).toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
