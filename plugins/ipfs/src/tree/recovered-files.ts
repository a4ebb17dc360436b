import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type FilesService,
  isNodekeepError,
  type Log,
  type StorageBackend,
  type UserDirectory,
  type UserFiles,
} from '@nodekeep/plugin-sdk'

/** The folder of the backend in which files are that a rebuilt index could not name. The user's folder has the same path. */
const recoveredFolder = '/recovered'

/** Milliseconds after which a storage that does not work is tried again. */
const retryMs = 10_000

interface RecoveredFilesServices {
  readonly backend: StorageBackend
  readonly files: FilesService
  readonly users: Pick<UserDirectory, 'owner'>
  readonly log: Pick<Log, 'warn'>
  readonly signal: AbortSignal
}

/**
 * Gives the files that a rebuilt index could not name to the owner of the node, as `/recovered/<cid>`. They pass through `files`, so that
 * the journal tells devices of them. Their blocks are stored already. It waits for the storage while its index is made again. Without an
 * owner, and after another error, which it logs, the files stay for the next start.
 */
export async function giveRecoveredFiles(services: RecoveredFilesServices): Promise<void> {
  const { log, signal } = services
  for (;;) {
    try {
      return await giveAll(services)
    } catch (error) {
      if (signal.aborted) return
      const isUnavailable = isNodekeepError(error) && error.code === 'SERVICE_UNAVAILABLE'
      if (!isUnavailable)
        return log.warn({ err: error }, 'Recovered files could not be given to the owner yet.')
      await delay(retryMs, undefined, { ref: false, signal }).catch(() => {})
    }
  }
}

async function giveAll(services: RecoveredFilesServices): Promise<void> {
  const { backend, files, users, log, signal } = services
  const names: string[] = []
  for await (const { name } of entriesOf(backend, recoveredFolder)) names.push(name)
  if (names.length === 0) return
  const owner = await users.owner()
  if (owner === null) return
  const home = files.for(owner, { maker: { kind: 'plugin', id: 'ipfs' }, group: randomUUID() })
  for (const name of names) {
    const path = `${recoveredFolder}/${name}`
    await give(backend, home, path, signal)
    await backend.remove(path)
  }
  await backend.remove(recoveredFolder, { onlyIfEmpty: true })
  log.warn(
    { user: owner.uuid, count: names.length },
    'Files of which only the content was left are in the folder /recovered of the owner now, by their CIDs.',
  )
}

/** Copies a file, or a folder with its content. */
async function give(
  backend: StorageBackend,
  home: UserFiles,
  top: string,
  signal: AbortSignal,
): Promise<void> {
  const waiting = [top]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    signal.throwIfAborted()
    const { type, size, modified } = await backend.stat(path)
    if (type === 'directory') {
      await home.makeDirectory(path)
      for await (const { name } of backend.list(path)) waiting.push(`${path}/${name}`)
      continue
    }
    const { content } = await backend.read(path, { signal })
    try {
      await home.write(path, content, { size, modified, ifAbsent: true, signal })
    } catch (error) {
      // The node stopped after it had given this one.
      if (!isNodekeepError(error) || error.code !== 'PRECONDITION_FAILED') throw error
      await content[Symbol.asyncIterator]().return?.()
    }
  }
}

async function* entriesOf(
  backend: StorageBackend,
  folder: string,
): AsyncGenerator<{ readonly name: string }> {
  try {
    yield* backend.list(folder)
  } catch (error) {
    if (!isNodekeepError(error) || error.code !== 'NOT_FOUND') throw error
  }
}
