import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { isDamage, lockFile } from '@nodekeep/plugin-sdk/data-folder'
import { BlockIndex } from './block-index.ts'
import { cleanPacks } from './pack-folder.ts'
import type { SendFromWriter, WriterSettings } from './protocol.ts'
import { rebuildIndex } from './rebuild.ts'
import { openIndex } from './schema.ts'
import { StoreWriter } from './store-writer.ts'

/**
 * Opens the store for changes. A lost index is made again from the packs first, which may take long. The store stays usable without packs that are
 * missing or have lost bytes.
 *
 * @returns the writer, and the lock of the folder
 * @throws Error with one line for a person
 */
export async function openWriter(
  settings: WriterSettings,
  send: SendFromWriter,
): Promise<{ writer: StoreWriter; lock: Disposable }> {
  const lock = lockFile(join(settings.folder, 'lock'))
  if (lock === null)
    throw new Error(`Another program uses the store of blocks in ${settings.folder}. Stop it first.`)
  try {
    return { writer: await opened(settings, send), lock }
  } catch (error) {
    lock[Symbol.dispose]()
    throw error
  }
}

async function opened(settings: WriterSettings, send: SendFromWriter): Promise<StoreWriter> {
  const connection = openIndex(settings.file)
  try {
    return withCleanPacks(connection ?? (await rebuilt(settings, send)), settings, send)
  } catch (error) {
    connection?.close()
    if (!isDamage(error)) throw error
    return withCleanPacks(await rebuilt(settings, send), settings, send)
  }
}

function withCleanPacks(
  connection: DatabaseSync,
  settings: WriterSettings,
  send: SendFromWriter,
): StoreWriter {
  for (const { file, length, found } of cleanPacks(settings.folder, new BlockIndex(connection))) {
    const state = found === null ? 'is missing' : `has only ${found} of its ${length} bytes`
    send({ warning: `${file} ${state}. Files with blocks in it cannot be read.` })
  }
  return new StoreWriter(connection, settings, send)
}

async function rebuilt({ file, folder }: WriterSettings, send: SendFromWriter): Promise<DatabaseSync> {
  const onProgress = (bytes: number, of: number) => send({ rebuilt: bytes, of })
  const { connection, blocks, recordedAt, recovered, damaged } = await rebuildIndex(file, folder, onProgress)
  if (blocks === 0 && damaged.length === 0) return connection
  for (const { file, from, to } of damaged)
    send({ warning: `Bytes ${from} to ${to} of ${file} are damaged.` })
  const tree =
    recordedAt === null
      ? 'There is no record of the tree'
      : `The tree is that of ${new Date(recordedAt).toISOString()}`
  const warning = `The index of the store of blocks was lost, and has been made again from ${blocks} blocks. ${tree}. Files and folders that it does not name are in /recovered: ${recovered}.`
  send({ warning })
  return connection
}
