import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import type { EntryActions } from './entry-actions.ts'
import { downloadFile } from './file-download.ts'
import type { Folder } from './folder.ts'
import { nameOf, pathIn } from './paths.ts'
import type { Previews } from './previews.ts'
import type { Search } from './search.ts'
import { Viewer } from './viewer.ts'

interface OpenedFileProps {
  readonly folder: Folder
  readonly search: Search
  readonly actions: EntryActions
  readonly previews: Previews
  readonly page: PageContext
}

/** Shows the file that the person opened. Its neighbors are those of the folder, or what was found. */
export function OpenedFile({ folder, search, actions, previews, page }: OpenedFileProps): VNode {
  const { viewed } = actions
  const step = (by: 1 | -1) => {
    const paths = search.isOpen.value ? foundFiles(search) : filesIn(folder)
    const from = paths.indexOf(viewed.value ?? '')
    const path = paths[from + by]
    if (from < 0 || path === undefined) return
    viewed.value = path
    if (!search.isOpen.value) folder.selection.onlyName(nameOf(path))
  }
  // The browser gives the focus back to a link, but not to a row.
  const closed = () => {
    if (!search.isOpen.value) actions.focusRows()
  }
  return html`<${Viewer}
    viewed=${viewed}
    onStep=${step}
    onDownload=${(path: string) => downloadFile(page, path)}
    onClosed=${closed}
    previews=${previews}
    page=${page}
  />`
}

function filesIn({ entries, path }: Folder): string[] {
  const files = entries.value?.filter(({ type }) => type === 'file') ?? []
  return files.map(({ name }) => pathIn(path.value, name))
}

function foundFiles({ found }: Search): string[] {
  return found.value?.flatMap(({ type, path }) => (type === 'file' ? [path] : [])) ?? []
}
