import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type BackupEntry,
  type BackupParticipant,
  BackupParticipants,
  ChangeGate,
  definePlugin,
} from '@nodekeep/plugin-sdk'
import { type BackupSubject, backupConformance } from '@nodekeep/plugin-sdk/conformance/backup'
import { test } from 'tap'
import { createTestNode, type TestNodeOptions } from '../../src/testing/create-test-node.ts'

interface Notes {
  readonly participant: BackupParticipant
  write(name: string, content: Uint8Array): Promise<void>
  read(name: string): Promise<Uint8Array | null>
}

/** A plugin that keeps notes in files of its own folder, as a third party writes it. */
function notesPlugin(onSetup: (notes: Notes) => void) {
  return definePlugin({
    id: 'notes',
    contributes: { participants: BackupParticipants },
    async setup({ dataDir, participants, restored }) {
      const [folder, found] = [join(dataDir, 'notes'), join(dataDir, 'restored')]
      await mkdir(folder, { recursive: true })
      if (restored !== null) {
        await cp(found, folder, { recursive: true, preserveTimestamps: true }).catch((error) => {
          if (error.code !== 'ENOENT') throw error
        })
        await rm(found, { recursive: true, force: true })
        await restored.acknowledge()
      }
      const gate = new ChangeGate()
      const entryOf = async (name: string): Promise<BackupEntry> => {
        const [bytes, { mtime }] = await Promise.all([readFile(join(folder, name)), stat(join(folder, name))])
        const open = async function* () {
          yield bytes
        }
        return { path: name, type: 'file', size: bytes.length, modified: mtime, open }
      }
      const participant: BackupParticipant = {
        prepare: async (signal) => ({
          async halt() {
            const halt = await gate.halt(signal)
            return {
              async fix() {
                const entries = await Promise.all((await readdir(folder)).sort().map(entryOf))
                return {
                  entries: async function* () {
                    yield* entries
                  },
                  omitted: async () => [],
                  changed: [],
                  release: async () => {},
                }
              },
              [Symbol.asyncDispose]: async () => halt[Symbol.dispose](),
            }
          },
          release: async () => {},
        }),
      }
      participants.add('notes', participant)
      onSetup({
        participant,
        write: (name, content) =>
          gate.runShared(async () => {
            await writeFile(join(dataDir, 'draft'), content)
            await rename(join(dataDir, 'draft'), join(folder, name))
          }),
        read: (name) => readFile(join(folder, name)).catch(() => null),
      })
    },
  })
}

async function start(options: TestNodeOptions = {}): Promise<BackupSubject> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'notes-'))
  let notes: Notes | undefined
  const plugin = notesPlugin((made) => {
    notes = made
  })
  const boot = (more: TestNodeOptions = {}) => createTestNode({ ...more, plugins: [plugin], dataFolder })
  let node = await boot(options)
  const running = () => notes as Notes
  return {
    get participant() {
      return running().participant
    },
    write: (name, content) => running().write(name, content),
    read: (name) => running().read(name),
    async restart() {
      await node.stop()
      node = await boot()
    },
    async close() {
      await node.stop()
      await rm(dataFolder, { recursive: true })
    },
  }
}

backupConformance(test, {
  setUp: () => start(),
  restore: (folder) => start({ restored: { notes: folder } }),
})
