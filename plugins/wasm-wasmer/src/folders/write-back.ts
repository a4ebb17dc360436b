import { type ErrorCode, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { type ChangedFolder, isReplaced, pathIn, type StoredEntry } from './changed-folder.ts'
import { checkUnchanged } from './check-unchanged.ts'

/** Who made the change, for the journal. */
const by = 'wasm'

/** Codes that would tell the caller of a mistake in the request: it is the program's. */
const ofTheProgram: readonly ErrorCode[] = ['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT']

/**
 * Makes a program's changes in the user's files. What somebody else changed meanwhile stays as it is, and then none of
 * the program's changes is made. If a step fails, what was done before stays done.
 *
 * @param exitCode of the program, for messages
 * @throws NodekeepError PRECONDITION_FAILED for what was changed meanwhile, UNPROCESSABLE for what cannot be stored,
 * and what else the files answer
 */
export async function writeBack(folders: readonly ChangedFolder[], exitCode: number): Promise<void> {
  const ended = `The program ended with exit code ${exitCode}, but`
  await saying(`${ended} none of its changes was stored:`, async () => {
    for (const folder of folders) await checkUnchanged(folder)
  })
  await saying(`${ended} not all of its changes could be stored:`, async () => {
    for (const step of stepsOf(folders)) await step()
  })
}

/**
 * What is gone is removed last: it may have been moved, and what is new be all that is left of it. Only where a file takes
 * the place of a folder, or the other way round, there is no other way.
 */
function stepsOf(folders: readonly ChangedFolder[]): (() => Promise<void>)[] {
  const steps = folders.map((folder) => {
    const replaced = isReplaced(folder)
    return {
      stores: folder.stored.map((entry) => ({
        isLate: replaced(entry.path),
        take: () => store(folder, entry),
      })),
      // Folders come before what is in them, and have to go after it.
      removals: folder.removed
        .toReversed()
        .map((path) => ({ isLate: !replaced(path), take: () => remove(folder, path) })),
    }
  })
  const stores = steps.flatMap((each) => each.stores)
  const removals = steps.flatMap((each) => each.removals)
  return [false, true]
    .flatMap((late) => [stores, removals].flatMap((kind) => kind.filter(({ isLate }) => isLate === late)))
    .map(({ take }) => take)
}

async function store(folder: ChangedFolder, { path, content }: StoredEntry): Promise<void> {
  const { files } = folder.preopen
  if (content === null) {
    await files.makeDirectory(pathIn(folder, path), { by })
    return
  }
  const ifRevision = folder.revisions.get(path)
  const condition = ifRevision === undefined ? { ifAbsent: true } : { ifRevision }
  await files.write(pathIn(folder, path), once(content), { by, size: content.length, ...condition })
}

/** Removes a file in the version that the program saw, or a folder that nothing is left in. */
async function remove(folder: ChangedFolder, path: string): Promise<void> {
  const ifRevision = folder.revisions.get(path)
  const condition = ifRevision === undefined ? { onlyIfEmpty: true } : { ifRevision }
  try {
    await folder.preopen.files.remove(pathIn(folder, path), { by, ...condition })
  } catch (error) {
    // Perhaps somebody else removed it, too.
    if (!isNodekeepError(error) || error.code !== 'NOT_FOUND') throw error
  }
}

async function saying(what: string, step: () => Promise<void>): Promise<void> {
  try {
    await step()
  } catch (error) {
    if (!isNodekeepError(error)) throw error
    const { code, message, headers } = error
    throw new NodekeepError(ofTheProgram.includes(code) ? 'UNPROCESSABLE' : code, `${what} ${message}`, {
      cause: error,
      headers,
    })
  }
}

async function* once(content: Buffer): AsyncGenerator<Uint8Array> {
  if (content.length > 0) yield content
}
