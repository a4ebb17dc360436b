import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../../html.ts'
import { deleteFiles } from './deletion.ts'
import type { EntryActions } from './entry-actions.ts'
import { downloadFile } from './file-download.ts'
import { FileFacts } from './file-facts.ts'
import type { Folder } from './folder.ts'
import type { EntryMarks } from './marked-entries.ts'
import { folderOf, pathIn } from './paths.ts'
import type { Previews } from './previews.ts'
import type { Search } from './search.ts'
import type { Tasks } from './tasks.ts'
import { Viewer } from './viewer.ts'

interface OpenedFileProps {
  readonly folder: Folder
  readonly search: Search
  readonly tasks: Tasks
  readonly actions: EntryActions
  readonly marks: EntryMarks
  readonly previews: Previews
  readonly page: PageContext
}

/** Shows the file that the person opened. Its neighbors are those of the folder, or what was found. */
export function OpenedFile({
  folder,
  search,
  tasks,
  actions,
  marks,
  previews,
  page,
}: OpenedFileProps): VNode | null {
  const { viewed } = actions
  const path = viewed.path.value
  useLayoutEffect(() => {
    // Without a selection, as on a phone, none begins.
    const isSelected = folder.selection.entries.peek().length > 0
    if (path !== null && folderOf(path) === folder.path.value) folder.goTo(path, isSelected)
  }, [path])
  if (path === null) return null
  const paths = search.isOpen.value ? foundFiles(search) : filesIn(folder)
  const at = paths.indexOf(path)
  // The browser gives the focus back to a link, but not to a row.
  const closed = () => {
    if (!search.isOpen.value) actions.focusRows()
  }
  return html`<${Viewer}
    viewed=${viewed}
    previous=${at < 0 ? null : (paths[at - 1] ?? null)}
    next=${at < 0 ? null : (paths[at + 1] ?? null)}
    onDownload=${(path: string) => downloadFile(page, path)}
    onDelete=${(path: string) => deleteFiles(page, tasks, [path])}
    onShare=${marks.linked.isOffered.value ? (path: string) => void actions.sharePath(path, 'file') : undefined}
    onVersions=${(path: string) => actions.showVersionsOf(path)}
    onClosed=${closed}
    previews=${previews}
    page=${page}
  >
    <${FileFacts} path=${path} page=${page} />
  <//>`
}

function filesIn({ entries, path }: Folder): string[] {
  const files = entries.value?.filter(({ type }) => type === 'file') ?? []
  return files.map(({ name }) => pathIn(path.value, name))
}

function foundFiles(search: Search): string[] {
  const files = search.found.value?.filter((one) => one.type === 'file' && search.chatIn(one) === null)
  return files?.map(({ path }) => path) ?? []
}
