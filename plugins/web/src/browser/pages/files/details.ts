import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { copyText } from '../../copy-text.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { makerText } from '../../maker-text.ts'
import { useMedia } from '../../media.ts'
import { Dialog } from '../../questions.ts'
import { request } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText } from '../../times.ts'
import type { Change } from './changes-feed.ts'
import { kindOf } from './entry-kind.ts'
import type { EntryParts } from './entry-parts.ts'
import { EntryPicture } from './entry-picture.ts'
import { type FolderAnswer, useFolderAnswer } from './folder-answer.ts'
import { FolderUsage, type Usage, useUsage } from './folder-usage.ts'
import type { Entry } from './listing.ts'
import { nameOf, pathIn } from './paths.ts'
import { RecentChanges } from './recent-changes.ts'
import { withoutRoom } from './view-settings.ts'

const words = texts.details

/** Versions that are counted: a page of them. */
const countedVersions = 100

interface DetailsProps {
  readonly parts: EntryParts
  /** The room that the folder takes. */
  readonly usage: FolderAnswer<Usage>
  readonly page: PageContext
}

/** The details of what is selected, or of the folder: beside the entries, or over them where there is no room. */
export function Details({ parts, usage, page }: DetailsProps): VNode | null {
  const { settings, actions } = parts
  const isOver = useMedia(withoutRoom)
  if (!settings.showsDetails.value) return null
  const close = () => actions.closeDetails()
  const content = html`<${Content} parts=${parts} usage=${usage} page=${page} />`
  if (isOver) {
    return html`<${Dialog} title=${words.title} onClose=${close}>
      <div class="details">${content}</div>
      <p class="buttons"><button type="button" class="main" onClick=${close}>${texts.close}</button></p>
    <//>`
  }
  return html`<aside class="panel details" aria-label=${words.title}>
    <p class="head">
      <strong>${words.title}</strong>
      <button type="button" class="quiet icon-only" aria-label=${words.close} title=${words.close} onClick=${close}>${icon('x')}</button>
    </p>
    ${content}
  </aside>`
}

function Content({ parts, usage, page }: DetailsProps): VNode {
  const selected = parts.folder.selection.entries.value
  const [first] = selected
  if (first === undefined) return html`<${FolderDetails} parts=${parts} usage=${usage} page=${page} />`
  if (selected.length > 1) return html`<${SeveralDetails} selected=${selected} />`
  return html`<${EntryDetails} parts=${parts} page=${page} entry=${first} />`
}

function FolderDetails({ parts: { folder }, usage, page }: DetailsProps): VNode {
  const path = folder.path.value
  return html`
    <h2 class="name"><bdi>${path === '/' ? texts.files.home : shownName(nameOf(path))}</bdi></h2>
    ${path !== '/' && html`<${PathLine} path=${path} page=${page} />`}
    <${FolderUsage} usage=${usage} />
    <${RecentChanges} folder=${folder} page=${page} />
  `
}

function SeveralDetails({ selected }: { readonly selected: readonly Entry[] }): VNode {
  const bytes = selected.reduce((sum, { size = 0 }) => sum + size, 0)
  const folders = selected.filter(({ type }) => type === 'directory').length
  return html`
    <h2 class="name">${words.several(selected.length)}</h2>
    <dl>
      <dt>${texts.files.size}</dt>
      <dd>${words.bytesOfFiles(bytesText(bytes))}</dd>
      ${folders > 0 && html`<dt>${texts.files.folders}</dt><dd>${folders.toLocaleString()}</dd>`}
    </dl>
  `
}

function EntryDetails({
  parts,
  page,
  entry,
}: Omit<DetailsProps, 'usage'> & { readonly entry: Entry }): VNode {
  const { folder, actions, previews, marks } = parts
  const { name, type, size, modified, created } = entry
  const path = pathIn(folder.path.value, name)
  const isFolder = type === 'directory'
  const usage = useUsage(folder, page, isFolder ? path : null).answer
  const last = useFolderAnswer<Change | undefined>(folder, {
    path,
    async ask(path, signal) {
      const query = { path, limit: '1' }
      return (await request(page, 'GET /api/files/changes/newest', { query, signal })).changes[0]
    },
  }).answer
  const versions = useFolderAnswer<string>(folder, {
    path: isFolder ? null : path,
    async ask(path, signal) {
      const query = { path, limit: String(countedVersions) }
      const { versions, cursor } = await request(page, 'GET /api/files/versions', { query, signal })
      return words.countOfVersions(versions.length, cursor !== null)
    },
  }).answer
  // The answers of the node have their lines before they come, so that nothing moves below a pointer.
  return html`
    <${EntryPicture} key=${`${path} ${modified}`} entry=${entry} path=${path} isLarge previews=${previews} />
    <h2 class="name"><bdi>${shownName(name)}</bdi></h2>
    <dl>
      <dt>${texts.files.columns.kind}</dt>
      <dd>${texts.files.kinds[kindOf(entry)]}</dd>
      <dt>${texts.files.size}</dt>
      <dd>${isFolder ? usage && texts.usage.taken(bytesText(usage.bytes), texts.files.count(usage.entries)) : bytesText(size ?? 0)}</dd>
      <dt>${texts.files.changed}</dt>
      <dd><time dateTime=${modified}>${dateText(modified)}</time>${last !== undefined && html`<br /><bdi>${last === null ? '\u00a0' : words.by(makerText(last))}</bdi>`}</dd>
      ${created !== undefined && html`<dt>${words.created}</dt><dd><time dateTime=${created}>${dateText(created)}</time></dd>`}
      ${!isFolder && html`<dt>${texts.versions.title}</dt><dd>${versions}</dd>`}
      ${marks.published.paths.value.has(path) && html`<dt>${words.published}</dt><dd><a class="alone" href="#/published">${texts.publishing.mark}</a></dd>`}
      ${marks.linked.paths.value.has(path) && html`<dt>${texts.links.title}</dt><dd><a class="alone" href="#/links">${texts.links.mark}</a></dd>`}
    </dl>
    <${PathLine} path=${path} page=${page} />
    <p class="choices">
      ${marks.linked.isOffered.value && html`<button type="button" onClick=${() => actions.share(entry)}>${icon('share-2')}${texts.links.share}</button>`}
      ${!isFolder && html`<button type="button" onClick=${() => actions.showVersions(entry)}>${icon('history')}${texts.versions.title}</button>`}
    </p>
  `
}

/** The path, with a button that copies it. */
function PathLine({ path, page }: { readonly path: string; readonly page: PageContext }): VNode {
  const text = useRef<HTMLElement>(null)
  const copy = async () => page.notice((await copyText(path, text.current)) ? texts.copied : texts.selected)
  return html`<p class="path-line">
    <code ref=${text}>${shownName(path)}</code>
    <button type="button" class="quiet icon-only" aria-label=${words.copyPath} title=${words.copyPath} onClick=${copy}>${icon('copy')}</button>
  </p>`
}
