import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { ask } from '../../questions.ts'
import { texts } from '../../texts.ts'
import type { Entry, Folder } from './folder.ts'
import { nameFault, pathIn } from './paths.ts'
import { UploadList } from './upload-list.ts'
import type { Uploads } from './uploads.ts'
import { VirtualRows } from './virtual-rows.ts'

interface FolderViewProps {
  readonly folder: Folder
  readonly uploads: Uploads
  readonly page: PageContext
}

/** The folder that is shown: where it is, what can be done, and its entries. */
export function FolderView({ folder, uploads, page }: FolderViewProps): VNode {
  const chooser = useRef<HTMLInputElement>(null)
  const isOver = useSignal(false)
  const upload = (files: Iterable<File>) => {
    for (const file of files) uploads.add(pathIn(folder.path.value, file.name), file)
  }
  const drag = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes('Files')) return
    event.preventDefault()
    isOver.value = event.type === 'dragover'
    if (event.type === 'drop') upload(droppedFiles(event.dataTransfer))
  }
  const choose = () => {
    upload(chooser.current?.files ?? [])
    if (chooser.current) chooser.current.value = ''
  }
  const makeFolder = async () => {
    const field = { label: texts.files.folderName, value: '' }
    const name = await ask({
      title: texts.files.newFolder,
      field,
      agree: texts.files.create,
      check: nameFault,
    })
    if (name !== null) await attempt(page, () => folder.makeFolder(name))
  }
  return html`<section
    class=${isOver.value ? 'files over' : 'files'}
    onDragOver=${drag}
    onDragLeave=${drag}
    onDrop=${drag}
  >
    <h1 class="path">${crumbs(folder.path.value)}</h1>
    <div class="tools">
      <button type="button" class="main" onClick=${() => chooser.current?.click()}>${texts.files.upload}</button>
      <input type="file" multiple hidden ref=${chooser} onChange=${choose} aria-label=${texts.files.upload} />
      <button type="button" onClick=${makeFolder}>${texts.files.newFolder}</button>
    </div>
    <${UploadList} uploads=${uploads} />
    <p class="fault" role="alert">${folder.fault.value}</p>
    <${Entries} folder=${folder} page=${page} />
    ${isOver.value && html`<p class="drop">${texts.files.dropHere}</p>`}
  </section>`
}

/** The files of a drop. Folders have no content that a browser would send, so they are left out. */
function droppedFiles(transfer: DataTransfer): File[] {
  return [...transfer.items].flatMap((item) => {
    const file = item.webkitGetAsEntry()?.isDirectory ? null : item.getAsFile()
    return file ?? []
  })
}

/** The names of the path, each with a link to its folder. */
function crumbs(path: string): VNode[] {
  const names = path.split('/').filter(Boolean)
  const links = names.map((name, i) => ({ name, path: `/${names.slice(0, i + 1).join('/')}` }))
  return [{ name: texts.files.home, path: '' }, ...links].map(
    ({ name, path }, i) =>
      html`${i > 0 && html`<span aria-hidden="true"> / </span>`}<a href=${addressOf(path)} aria-current=${i === links.length && 'page'}>${name}</a>`,
  )
}

function addressOf(path: string): string {
  return `#/files${path.split('/').map(encodeURIComponent).join('/')}`
}

function Entries({ folder, page }: { folder: Folder; page: PageContext }): VNode | null {
  const entries = folder.entries.value
  if (entries === null) return folder.fault.value ? null : html`<p class="hint">${texts.shell.loading}</p>`
  if (entries.length === 0) return html`<p class="hint">${texts.files.empty}</p>`
  const row = (entry: Entry) => cells(entry, folder, page)
  return html`<${VirtualRows} label=${texts.files.list} items=${entries} row=${row} keyOf=${({ name }: Entry) => name} />`
}

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

function cells(entry: Entry, folder: Folder, page: PageContext): VNode {
  const { name, type, size, modified } = entry
  const path = pathIn(folder.path.value, name)
  const read = `/read?path=${encodeURIComponent(path)}`
  const label = (action: string) => texts.files.of(action, name)
  const rename = async () => {
    const field = { label: texts.files.newName, value: name }
    const title = label(texts.files.rename)
    const newName = await ask({ title, field, agree: texts.files.rename, check: nameFault })
    if (newName === null || newName === name) return
    await attempt(page, () => folder.rename(entry, newName), texts.files.done.renamed)
  }
  const remove = async () => {
    const text = type === 'file' ? texts.files.deleteFile : texts.files.deleteFolder
    const answer = await ask({ title: texts.files.deleteTitle(name), text, agree: texts.files.delete })
    if (answer !== null) await attempt(page, () => folder.delete(entry), texts.files.done.deleted)
  }
  return html`<span role="cell" class=${`name ${type}`}>
      ${type === 'directory' ? html`<a href=${addressOf(path)}>${name}</a>` : html`<span>${name}</span>`}
    </span>
    <span role="cell" class="size">${size === undefined ? '' : bytesText(size)}</span>
    <time role="cell" class="changed" datetime=${modified}>${dates.format(new Date(modified))}</time>
    <span role="cell" class="actions">
      ${type === 'file' && html`<a class="button" href=${read} download=${name} aria-label=${label(texts.files.download)}>${texts.files.download}</a>`}
      <button type="button" onClick=${rename} aria-label=${label(texts.files.rename)}>${texts.files.rename}</button>
      <button type="button" onClick=${remove} aria-label=${label(texts.files.delete)}>${texts.files.delete}</button>
    </span>`
}

async function attempt(page: PageContext, work: () => Promise<void>, done?: string): Promise<void> {
  try {
    await work()
    if (done !== undefined) page.notice(done)
  } catch (error) {
    page.notice(error instanceof TypeError ? texts.shell.requestFailed : (error as Error).message, 'error')
  }
}
