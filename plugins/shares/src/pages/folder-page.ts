import { bytesText } from '@nodekeep/plugin-sdk/bytes-text'
import { type Html, html } from './html.ts'
import { documentOf } from './page.ts'
import { dayText, shownName, untilText } from './texts.ts'

/** An entry of a shared folder. */
export interface ListedEntry {
  readonly name: string
  readonly type: 'file' | 'directory'
  /** Bytes. */
  readonly size: number
  readonly modified: Date
}

/** A shared folder, or one in it, as a guest sees it. */
interface FolderView {
  readonly token: string
  /** The name of the shared folder. */
  readonly name: string
  /** The path below the shared folder: empty for itself, otherwise it begins with `/`. */
  readonly below: string
  readonly entries: readonly ListedEntry[]
  /** When the link ends. */
  readonly expires: Date
  /** The name that the next page begins after; null if this is the last one. */
  readonly next: string | null
  readonly isGrid: boolean
  /** Whether the node may have a preview of a file of this name. */
  readonly isPicture: (name: string) => boolean
  /** The form for uploads; null if guests may not upload. */
  readonly drop: Html | null
}

/** The address of something in a link. */
export function addressOf(
  token: string,
  action: '' | '/view' | '/file' | '/preview' | '/zip',
  query: Readonly<Record<string, string>>,
): string {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  return `/s/${token}${action}${text === '' ? '' : `?${text}`}`
}

/** The page of a folder: its entries, each with a link. */
export function folderPage(view: FolderView): string {
  const { token, name, below, entries, expires, next, isGrid, drop } = view
  const layout: Readonly<Record<string, string>> = isGrid ? { view: 'grid' } : { view: 'list' }
  const other = isGrid ? 'list' : 'grid'
  const content = html`<header class="page-head">
  ${breadcrumb(view)}
  <div class="toolbar">
    <a class="button quiet" href="${addressOf(token, '', { path: below, view: other })}">${isGrid ? 'List' : 'Grid'}</a>
    ${entries.length === 0 ? null : html`<a class="button" href="${addressOf(token, '/zip', { path: below })}" download>Download all</a>`}
  </div>
</header>
${drop}
${
  entries.length === 0
    ? html`<p class="empty">There is nothing here.</p>`
    : isGrid
      ? html`<ul class="tiles shared">${entries.map((entry) => tile(view, entry))}</ul>`
      : html`<ul class="items shared">${entries.map((entry) => row(view, entry))}</ul>`
}
${next === null ? null : html`<p><a class="button" href="${addressOf(token, '', { path: below, after: next, ...layout })}">More</a></p>`}
<p class="note">${untilText(expires)}</p>`
  return documentOf({
    title: shownName(below === '' ? name : nameIn(below)),
    content,
    hasScript: drop !== null,
  })
}

function breadcrumb({ token, name, below }: FolderView): Html {
  const names = below.split('/').slice(1)
  const last = names.length
  const items = [name, ...names].map((label, at) => {
    const text = html`<bdi>${shownName(label)}</bdi>`
    if (at === last) return html`<li><h1 aria-current="page">${text}</h1></li>`
    const path = names.slice(0, at).map((one) => `/${one}`)
    return html`<li><a href="${addressOf(token, '', { path: path.join('') })}">${text}</a></li>`
  })
  return html`<nav class="breadcrumb" aria-label="Folder"><ol>${items}</ol></nav>`
}

function linkOf({ token, below }: FolderView, { name, type }: ListedEntry): string {
  return addressOf(token, type === 'directory' ? '' : '/view', { path: `${below}/${name}` })
}

function row(view: FolderView, entry: ListedEntry): Html {
  const { name, type, size, modified } = entry
  const facts = type === 'directory' ? 'Folder' : `${bytesText(size)}, ${dayText(modified)}`
  return html`<li>
  <a class="grow" href="${linkOf(view, entry)}"><bdi>${shownName(name)}</bdi></a>
  <span class="note">${facts}</span>
  ${type === 'directory' ? null : download(view, entry)}
</li>`
}

function tile(view: FolderView, entry: ListedEntry): Html {
  const { token, below } = view
  const { name, type, size } = entry
  const address = addressOf(token, '/preview', { path: `${below}/${name}`, size: 'small' })
  const picture = html`<img src="${address}" alt="" loading="lazy" width="256" height="256">`
  const isPicture = type === 'file' && view.isPicture(name)
  return html`<li><a class="tile" href="${linkOf(view, entry)}">
  ${isPicture ? picture : html`<span class="picture" aria-hidden="true">${type === 'directory' ? 'Folder' : typeOf(name)}</span>`}
  <span class="name"><bdi>${shownName(name)}</bdi></span>
  <span class="note">${type === 'directory' ? 'Folder' : bytesText(size)}</span>
</a></li>`
}

function download({ token, below }: FolderView, { name }: ListedEntry): Html {
  const address = addressOf(token, '/file', { path: `${below}/${name}`, download: '1' })
  return html`<a class="button quiet" href="${address}" aria-label="Download ${shownName(name)}">Download</a>`
}

function typeOf(name: string): string {
  return /\.([a-z0-9]{1,8})$/i.exec(name)?.[1]?.toUpperCase() ?? 'File'
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
