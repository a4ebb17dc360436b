import {
  concurrently,
  type FileListEntry,
  type FilesService,
  type KeptFilesService,
  NodekeepError,
  type RoutesApp,
  type UserFiles,
  userOf,
} from '@nodekeep/plugin-sdk'
import { nullIfGone } from './gone.ts'
import { userFilesOf } from './request.ts'
import { folderPage, listQuery } from './schemas.ts'

/** Entries of a page, unless the request says otherwise. */
const usualPage = 1000

/** Files of a page that are looked up at a time. */
const statsAtOnce = 16

/** Registers `GET /api/files/list`. */
export function listRoute(app: RoutesApp, files: FilesService, kept: KeptFilesService): void {
  const schema = {
    operationId: 'listFolderPage',
    summary: 'List a folder in pages, with the revisions of the files',
    querystring: listQuery,
    response: { 200: folderPage },
  }
  app.get('/api/files/list', { schema, config: { scope: 'files:read' } }, async (request) => {
    const { path, cursor, limit = usualPage } = request.query
    const { maxFileSize } = files
    const userFiles = userFilesOf(files, request)
    const listed: FileListEntry[] = []
    let isLast = true
    const after = cursor === undefined ? '' : nameOf(cursor)
    for await (const entry of userFiles.list(path, { after })) {
      // One more than the page has shows that there is another page.
      isLast = listed.length < limit
      if (!isLast) break
      listed.push(entry)
    }
    const entries = await withRevisions(userFiles, listed)
    const keeps = kept.for(userOf(request)).keeps(path)
    return { entries: entries.map(bodyOf), cursor: isLast ? null : cursorAfter(listed), maxFileSize, keeps }
  })
}

/** Looks up what the listing leaves out of files. A file that is gone by then is left out. */
async function withRevisions(files: UserFiles, listed: readonly FileListEntry[]): Promise<FileListEntry[]> {
  const lacking = listed.filter(
    ({ type, revision, created }) => type === 'file' && (revision === undefined || created === undefined),
  )
  const found = new Map<FileListEntry, FileListEntry | null>()
  await concurrently(lacking, statsAtOnce, async (entry) => {
    found.set(entry, await files.stat(entry.path).catch(nullIfGone))
  })
  return listed.flatMap((entry) => {
    const now = found.get(entry)
    return now === null ? [] : [now ?? entry]
  })
}

/** The last name of a page as clients get it. They cannot rely on its form. */
function cursorAfter(entries: readonly FileListEntry[]): string {
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

/** Folders have neither a size nor a revision, and on some storages no date of creation. */
function bodyOf({ name, type, size, modified, created, revision }: FileListEntry) {
  return {
    name,
    type,
    ...(type === 'file' && { size, revision }),
    modified: modified.toISOString(),
    ...(created && { created: created.toISOString() }),
  }
}
