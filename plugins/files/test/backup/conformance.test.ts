import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { User } from '@nodekeep/plugin-sdk'
import { type BackupSubject, backupConformance } from '@nodekeep/plugin-sdk/conformance/backup'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode } from '../fixtures/files-node.ts'

const ada = { uuid: randomUUID() } as User

/** A node whose folder of files has what is in a folder. */
async function subjectOf(files?: string): Promise<BackupSubject> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'files-'))
  const start = async () => {
    const services = captureServices()
    return { services, node: await createFilesNode({}, { plugins: [services.plugin], dataFolder }) }
  }
  let running = await start()
  // A node without users does not start on files of users.
  await running.node.signIn()
  if (files !== undefined) await cp(files, join(dataFolder, 'files'), { recursive: true })
  const own = () => running.services.files.for(ada)
  return {
    get participant() {
      const participant = running.services.participants.get('files')
      if (participant === undefined) throw new Error('"files" takes no part in backups.')
      return participant
    },
    async write(name, content) {
      const bytes = async function* () {
        yield content
      }
      await own().write(`/${name}`, bytes())
    },
    async read(name) {
      const found = await own()
        .read(`/${name}`)
        .catch(() => null)
      return found && buffer(found.content)
    },
    async restart() {
      await running.node.stop()
      running = await start()
    },
    async close() {
      await running.node.stop()
      await rm(dataFolder, { recursive: true })
    },
  }
}

backupConformance(t.test, {
  setUp: () => subjectOf(),
  async restore(folder) {
    const storages = await readdir(folder)
    return subjectOf(storages.length === 0 ? undefined : join(folder, 'local'))
  },
})
