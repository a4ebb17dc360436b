import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import {
  type BackupParticipant,
  BackupParticipants,
  type BackupSnapshot,
  definePlugin,
  Files,
  type FilesService,
  haltTogether,
  type RegistryReader,
  type StateStore,
} from '@nodekeep/plugin-sdk'
import { test } from 'tap'

const never = new AbortController().signal

interface Parts {
  readonly files: FilesService
  readonly state: StateStore
  readonly participants: RegistryReader<BackupParticipant>
}

async function fileOf({ entries }: BackupSnapshot, path: string): Promise<Buffer> {
  for await (const entry of entries()) if (entry.path === path) return buffer(entry.open())
  throw new Error(`${path} is not in the snapshot.`)
}

test('counters in the state and in files are of one moment, whichever is written first', async (t) => {
  const { promise, resolve } = Promise.withResolvers<Parts>()
  const counter = definePlugin({
    id: 'counter',
    requires: { files: Files, participants: BackupParticipants },
    setup: ({ files, participants, state }) => resolve({ files, participants, state }),
  })
  const node = await createTestNode({
    plugins: [counter],
    folder: import.meta.dirname,
    config: { plugins: { files: true, 'storage-local': true } },
  })
  t.teardown(() => node.stop())
  const { files, state, participants } = await promise
  const { user } = await node.signIn()
  const home = files.for(user)

  let running = true
  let rounds = 0
  const begun = new Set<string>()
  const store = {
    state: (name: string, count: number) => state.set(name, count),
    files: (name: string, count: number) =>
      home.write(
        `/${name}`,
        (async function* () {
          yield Buffer.from(String(count))
        })(),
      ),
  }
  const count = async (name: string, first: 'state' | 'files', second: 'state' | 'files') => {
    for (let n = 1; running; n++, rounds++) {
      await store[first](name, n)
      await store[second](name, n)
      begun.add(name)
    }
  }
  const writers = ['a', 'b', 'c'].flatMap((name) => [
    count(`state-first-${name}`, 'state', 'files'),
    count(`files-first-${name}`, 'files', 'state'),
  ])
  const names = writers.map((_, index) => `${index % 2 === 0 ? 'state' : 'files'}-first-${'aabbcc'[index]}`)

  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-moment-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (let backup = 0; backup < 12; backup++) {
    const before = rounds
    while (rounds < before + 20 || begun.size < names.length) await setImmediate()
    const parts = ['files', 'configuration', 'identity', 'state'].map((name) => participants.get(name))
    const prepared = await Promise.all(parts.flatMap((part) => part?.prepare(never) ?? []))
    const halted = await haltTogether(prepared)
    const snapshots = await halted.fix()
    await halted[Symbol.asyncDispose]()
    for (const one of prepared) await one.release()
    const [stored, , , kept] = snapshots
    if (stored === undefined || kept === undefined) throw new Error('A participant is missing.')
    const database = join(folder, `${backup}.sqlite`)
    writeFileSync(database, await fileOf(kept, 'state.sqlite'))
    const connection = new DatabaseSync(database, { readOnly: true })
    const rows = connection.prepare("SELECT key, value FROM state WHERE namespace = 'counter'").all()
    connection.close()
    const counted = new Map(
      rows.map(({ key, value }) => [String(key), Number(JSON.parse(String(value)).value)]),
    )
    for (const name of names) {
      const inFile = Number(await fileOf(stored, `local/${user.uuid}/${name}`))
      const ahead = (counted.get(name) ?? Number.NaN) - inFile
      const expected = name.startsWith('state') ? [0, 1] : [0, -1]
      t.ok(expected.includes(ahead), `${name}: the state is ahead by ${ahead}`)
    }
    for (const snapshot of snapshots) await snapshot.release()
  }
  running = false
  await Promise.all(writers)
})
