import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import { BackupParticipants, ChangeGate, definePlugin, Files, type User } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createBackupNode, fileEntry, makeBackup, partOf, put, unpacked } from '../fixtures/backup-node.ts'

const clients = 32

/** A content that shows whether it is whole. */
function contentOf(round: number, bytes: number): string {
  return `${round}:${bytes}:`.padEnd(bytes, `${round};`)
}

function isWhole(content: string): boolean {
  const [round = '', bytes = ''] = content.split(':', 2)
  return content === contentOf(Number(round), Number(bytes))
}

/** Writes, moves and deletes in a folder until it is told to stop. */
async function work(user: TestUser, folder: string, until: AbortSignal): Promise<void> {
  const ask = async (operation: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await user.fetch(`/${operation}`, { method: 'POST', body: JSON.stringify(body), headers })
    if (!answer.ok) throw new Error(await answer.text())
  }
  let [here, there] = [`${folder}/here`, `${folder}/there`]
  for (const name of ['1', '2', '3']) await put(user, `${here}/${name}`, contentOf(0, 100))
  for (let round = 1; !until.aborted; round += 1) {
    await put(user, `${folder}/replaced`, contentOf(round, 50 + ((round * 7919) % 30_000)))
    await put(user, `${folder}/deleted`, contentOf(round, 100))
    await ask('move', { source: here, destination: there })
    ;[here, there] = [there, here]
    await ask('delete', { path: `${folder}/deleted` })
  }
}

/** A plugin that counts, and writes each count into a file after that. */
function counter() {
  const gate = new ChangeGate()
  let count = 0
  let countFor: (user: User, until: AbortSignal) => Promise<void> = async () => {}
  const plugin = definePlugin({
    id: 'counter',
    requires: { files: Files },
    contributes: { participants: BackupParticipants },
    setup({ files, participants }) {
      countFor = async (user, until) => {
        while (!until.aborted) {
          await gate.runShared(async () => (count += 1))
          await files.for(user).write(
            '/count',
            (async function* () {
              yield Buffer.from(`${count}`)
            })(),
          )
        }
      }
      participants.add('counter', {
        prepare: async (signal) => ({
          async take(atMoment) {
            return gate.runExclusive(async () => {
              const fixed = `${count}`
              const prepared = await partOf(async function* () {
                yield fileEntry('count', fixed)
              })(signal)
              return prepared.take(atMoment)
            }, signal)
          },
          release: async () => {},
        }),
      })
    },
  })
  return { plugin, count: (user: User, until: AbortSignal) => countFor(user, until) }
}

test('a backup shows one moment while many clients change the node', async (t) => {
  const counting = counter()
  const node = await createBackupNode({ plugins: [counting.plugin] })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const users = await Promise.all(Array.from({ length: 4 }, () => node.signIn()))
  const end = new AbortController()
  const working = [
    counting.count(owner.user, end.signal),
    ...Array.from({ length: clients }, (_, index) =>
      work(users[index % users.length] as TestUser, `/client-${index}`, end.signal),
    ),
  ]
  const all = Promise.all(working)
  all.catch(() => {})
  const made: string[] = []
  for (let round = 0; round < 3; round += 1) made.push((await makeBackup(owner)).filename)
  end.abort()
  await all

  let found = 0
  for (const filename of made) {
    const folder = await unpacked(t, node, filename)
    const files = join(folder, 'files/local')
    for (const [index] of working.slice(1).entries()) {
      const client = join(files, (users[index % users.length] as TestUser).user.uuid, `client-${index}`)
      const names = namesIn(client)
      if (names === null) continue
      const trees = names.filter((name) => name === 'here' || name === 'there')
      if (trees.length === 1) found += 1
      t.ok(trees.length <= 1, `${client} has a folder at both ends of a move`)
      // The folder is filled before its first move.
      if (names.includes('replaced')) {
        t.equal(trees.length, 1, `${client} has lost a folder in a move`)
        t.strictSame(namesIn(join(client, trees[0] ?? '')), ['1', '2', '3'])
      }
      const inside = readdirSync(client, { recursive: true, withFileTypes: true })
      for (const entry of inside.filter((each) => each.isFile())) {
        const content = readFileSync(join(entry.parentPath, entry.name), 'utf8')
        if (!isWhole(content)) t.fail(`${entry.name} of ${client} is not whole`)
      }
    }
    const state = Number(readFileSync(join(folder, 'counter/count'), 'utf8'))
    const names = namesIn(join(files, owner.user.uuid)) ?? []
    const file = names.includes('count')
      ? Number(readFileSync(join(files, owner.user.uuid, 'count'), 'utf8'))
      : 0
    t.ok(state === file || state === file + 1, `state ${state} and file ${file} are of one moment`)
  }
  t.ok(found > clients, `${found} folders were compared`)
})

function namesIn(folder: string): string[] | null {
  try {
    return readdirSync(folder).sort()
  } catch {
    return null
  }
}
