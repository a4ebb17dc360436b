import { type FileEntry, type FilesService, NodekeepError, type RoutesApp } from '@nodekeep/plugin-sdk'
import { userFilesOf } from './request.ts'
import { folderPage, listQuery } from './schemas.ts'

/** Entries of a page, unless the request says otherwise. */
const usualPage = 1000

/** Registers `GET /api/files/list`. */
export function listRoute(app: RoutesApp, files: FilesService): void {
  const schema = {
    operationId: 'listFolderPage',
    summary: 'List a folder in pages, with the revisions of the files',
    querystring: listQuery,
    response: { 200: folderPage },
  }
  app.get('/api/files/list', { schema, config: { scope: 'files:read' } }, async (request) => {
    const { path, cursor, limit = usualPage } = request.query
    const { maxFileSize } = files
    const entries: FileEntry[] = []
    const after = cursor === undefined ? '' : nameOf(cursor)
    for await (const entry of userFilesOf(files, request).list(path, { after })) {
      // One more than the page has shows that there is another page.
      if (entries.length === limit)
        return { entries: entries.map(bodyOf), cursor: cursorAfter(entries), maxFileSize }
      entries.push(entry)
    }
    return { entries: entries.map(bodyOf), cursor: null, maxFileSize }
  })
}

/** The last name of a page as clients get it. They cannot rely on its form. */
function cursorAfter(entries: readonly FileEntry[]): string {
  return Buffer.from(entries.at(-1)?.name ?? '').toString('base64url')
}

/** @throws NodekeepError VALIDATION_ERROR for a text that {@link cursorAfter} cannot have made */
function nameOf(cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url')
  const name = bytes.toString()
  if (name !== '' && bytes.toString('base64url') === cursor && Buffer.from(name).equals(bytes)) return name
  throw new NodekeepError(
    'VALIDATION_ERROR',
    'The cursor is not one that this node gave. Begin without a cursor.',
  )
}

/** Folders have neither a size nor a revision. */
function bodyOf({ name, type, size, modified, created, revision }: FileEntry) {
  return {
    name,
    type,
    ...(type === 'file' && { size, revision }),
    modified: modified.toISOString(),
    created: created.toISOString(),
  }
}
