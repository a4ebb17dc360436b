import assert from 'node:assert/strict'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { journalOf } from './fixtures/plugin-fixtures.ts'
import { bytesOfContent } from './kept-client.ts'
import { contentOf } from './kept-contents.ts'
import { type Kept, KeptModel, sizeOf } from './kept-model.ts'

const dayMs = 24 * 60 * 60 * 1000

/** The ages of what is kept, in days. */
const agedDays = { day: 2, month: 31 }

/** An entry of the index. */
interface Row {
  readonly id: number
  readonly part: 'files' | 'kept'
  readonly path: string
  readonly type: string
  readonly size: number
}

/** An item of the trash or a version, as the index has it. */
interface KeptRow {
  readonly number: number
  readonly name: string
  readonly of: number | null
  readonly path: string
  readonly at: number
  readonly is_handover: number
}

/** The entries of the tree of a user, from the folder of the files and from that of what is kept on. */
const entriesOfUser = `
  WITH RECURSIVE found(id, part, path) AS (
    SELECT e.id, 'files', '/' || e.name FROM trees t JOIN entries e ON e.parent = t.root WHERE t.user = ?1
    UNION ALL
    SELECT e.id, 'kept', '/' || e.name FROM trees t JOIN entries e ON e.parent = t.kept_root WHERE t.user = ?1 AND t.kept_root <> 0
    UNION ALL
    SELECT e.id, part, path || '/' || e.name FROM found JOIN entries e ON e.parent = found.id
  )
  SELECT found.id, part, path, type, size FROM found JOIN entries USING (id)`

const keptOfUser = `
  SELECT number, name, of, path, at, is_handover FROM kept_entries k JOIN entries e ON e.id = k.entry
  WHERE user = ?1 AND e.parent IN (SELECT kept_root FROM trees WHERE user = ?1) ORDER BY number`

/** The files of a user, on the disk and in the index. */
export interface KeptPlace {
  readonly dataFolder: string
  /** The folder of the storage. */
  readonly root: string
  readonly uuid: string
}

/** The files of a user at a moment. */
interface KeptState {
  readonly model: KeptModel
  /** Items and versions that the index has and the disk does not: a deletion was broken off, and a second one does the rest. */
  readonly gone: ReadonlySet<string>
  /** The bytes that still count of such items, versions and files in items. */
  readonly goneBytes: number
}

/**
 * Reads the files of a user from the disk, and from the index which of them are kept for what.
 *
 * @throws AssertionError if the disk and the index differ, or a file is not whole
 */
export async function readState({ dataFolder, root, uuid }: KeptPlace): Promise<KeptState> {
  const { rows, keptRows } = readIndex(dataFolder, uuid)
  const disk = { files: await read(join(root, uuid)), kept: await read(join(root, 'kept', uuid)) }
  const indexed = (part: Row['part']) =>
    new Map(rows.filter((row) => row.part === part).map((row) => [row.path, row]))
  const [files, kept] = [indexed('files'), indexed('kept')]
  assert.deepEqual(
    sortedSizes([...files.values()].map(({ path, type, size }) => [path, type === 'file' ? size : null])),
    sortedSizes([...disk.files].map(([path, content]) => [path, content === null ? null : sizeOf(content)])),
    'the index has other files than the disk',
  )
  for (const [path, content] of disk.kept) {
    // A crash may leave empty folders of an item of which nothing is kept.
    if (content === null && !kept.has(path)) continue
    const { type, size } = kept.get(path) ?? {}
    const wanted = content === null ? { type: 'directory' } : { type: 'file', size: sizeOf(content) }
    assert.deepEqual(
      content === null ? { type } : { type, size },
      wanted,
      `${path} is kept, and not in the index`,
    )
  }
  const entriesAt = (part: Row['part'], top: string) =>
    new Map(
      rows
        .filter((row) => row.part === part && (row.path === top || row.path.startsWith(`${top}/`)))
        .filter(({ path }) => disk[part].has(path))
        .map(({ path, id }) => {
          const content = disk[part].get(path) ?? null
          return [path.slice(top.length), { content, key: content === null ? 0 : id }] as const
        }),
    )
  const gone = new Set<string>()
  const now = Date.now()
  const keptModels = keptRows.flatMap(({ number, name, of, path, at, is_handover }): Kept[] => {
    const top = `/${name}`
    if (!disk.kept.has(top)) {
      gone.add(String(number))
      return []
    }
    const days = (now - at) / dayMs
    const age = days > 30 ? 'month' : days > 1 ? 'day' : 'new'
    return [{ of, path, entries: entriesAt('kept', top), age, isHandover: is_handover === 1 }]
  })
  const goneBytes = [...kept.values()]
    .filter(({ path, type }) => type === 'file' && !disk.kept.has(path))
    .reduce((sum, { size }) => sum + size, 0)
  return { model: new KeptModel(entriesAt('files', ''), keptModels), gone, goneBytes }
}

/**
 * Lets some of what is kept look as if it was kept days ago. The node must not run.
 *
 * @param ageOf called for what was kept just now; `new` leaves it alone
 */
export function ageKept({ dataFolder, uuid }: KeptPlace, ageOf: () => Kept['age']): void {
  const database = new DatabaseSync(journalOf(dataFolder))
  try {
    const rows = database.prepare(keptOfUser).all(uuid) as unknown as KeptRow[]
    const set = database.prepare('UPDATE kept_entries SET at = ? WHERE number = ?')
    const now = Date.now()
    for (const { number, at } of rows) {
      if (now - at > dayMs) continue
      const age = ageOf()
      if (age === 'new') continue
      // At noon, so that all are of one day.
      const day = Math.floor(now / dayMs) - agedDays[age]
      set.run((day + 0.5) * dayMs, number)
    }
  } finally {
    database.close()
  }
}

/** Checks that no file has a second name. Nothing may change the disk meanwhile. */
export async function checkLinks({ root }: KeptPlace): Promise<void> {
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    assert.equal((await stat(file)).nlink, 1, `${file} has a second name`)
  }
}

function readIndex(dataFolder: string, uuid: string) {
  const database = new DatabaseSync(journalOf(dataFolder), { readOnly: true })
  try {
    const rows = database.prepare(entriesOfUser).all(uuid) as unknown as Row[]
    return { rows, keptRows: database.prepare(keptOfUser).all(uuid) as unknown as KeptRow[] }
  } finally {
    database.close()
  }
}

/** The contents of files by path, `null` for folders. */
async function read(folder: string): Promise<Map<string, string | null>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const contents = new Map<string, string | null>()
  for (const entry of found) {
    const file = join(entry.parentPath, entry.name)
    if (!entry.isFile()) {
      contents.set(file.slice(folder.length), null)
      continue
    }
    const bytes = await readFile(file).catch(ignoreMissing)
    // The purge runs.
    if (bytes === null) continue
    const content = contentOf(bytes)
    assert.ok(bytes.equals(bytesOfContent(content)), `${file} is not whole`)
    contents.set(file.slice(folder.length), content)
  }
  return contents
}

function sortedSizes(sizes: readonly (readonly [string, number | null])[]) {
  return sizes.toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function ignoreMissing(error: NodeJS.ErrnoException): null {
  if (error.code !== 'ENOENT') throw error
  return null
}
