import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestUser, takeSnapshot } from '@nodekeep/kernel/testing'
import {
  BackupParticipants,
  ChangeGate,
  definePlugin,
  Files,
  type StateStore,
  type User,
} from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { fileEntry, makeBackup, partOf, put } from '../fixtures/backup-node.ts'
import { houseFor, restore } from '../restore/fixtures/house.ts'

const clients = 12

/** Rounds of each client before the backup. */
const rounds = 1

/** A content that shows whether it is whole. */
function contentOf(round: number, bytes: number): string {
  return `${round}:${bytes}:`.padEnd(bytes, `${round};`)
}

function isWhole(content: string): boolean {
  const [round = '', bytes = ''] = content.split(':', 2)
  return content === contentOf(Number(round), Number(bytes))
}

/** Writes, moves and deletes in a folder until it is told to stop. It tells when the rounds before the backup are over. */
async function work(
  user: TestUser,
  folder: string,
  { until, onReady }: { readonly until: AbortSignal; readonly onReady: () => void },
): Promise<void> {
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
    if (round === rounds) onReady()
  }
}

/** A plugin that counts: in a part of its own, then in its state, then in a file. */
function counter() {
  const gate = new ChangeGate()
  let count = 0
  let countFor: (user: User, until: AbortSignal) => Promise<void> = async () => {}
  let stored: StateStore | undefined
  const plugin = definePlugin({
    id: 'counter',
    requires: { files: Files },
    contributes: { participants: BackupParticipants },
    setup({ files, participants, state }) {
      stored = state
      countFor = async (user, until) => {
        while (!until.aborted) {
          await gate.runShared(async () => (count += 1))
          await state.set('count', count)
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
          async halt() {
            const halt = await gate.halt(signal)
            return {
              async fix() {
                const fixed = `${count}`
                const part = partOf(async function* () {
                  yield fileEntry('count', fixed)
                })
                return takeSnapshot(await part(signal))
              },
              [Symbol.asyncDispose]: async () => halt[Symbol.dispose](),
            }
          },
          release: async () => {},
        }),
      })
    },
  })
  return {
    plugin,
    count: (user: User, until: AbortSignal) => countFor(user, until),
    stored: () => stored?.get<number>('count'),
  }
}

test('a restored node shows one moment, though many clients changed it while the backup was made', async (t) => {
  const counting = counter()
  const house = houseFor(t)
  const { node, owner } = await house.start({ plugins: [counting.plugin] })
  const users = await Promise.all(Array.from({ length: 4 }, () => node.signIn()))
  const end = new AbortController()
  const ready = Array.from({ length: clients }, () => Promise.withResolvers<void>())
  const all = Promise.all([
    counting.count(owner.user, end.signal),
    ...ready.map(({ resolve: onReady }, index) =>
      work(users[index % users.length] as TestUser, `/client-${index}`, { until: end.signal, onReady }),
    ),
  ])
  await Promise.race([all, Promise.all(ready.map(({ promise }) => promise))])
  const { filename } = await makeBackup(owner)
  end.abort()
  await all
  t.equal((await restore(owner, { filename, confirm: true })).status, 200)
  await house.start({ plugins: [counting.plugin] })

  const files = join(house.data, 'files')
  for (const index of ready.keys()) {
    const client = join(files, (users[index % users.length] as TestUser).user.uuid, `client-${index}`)
    const names = readdirSync(client)
    const trees = names.filter((name) => name === 'here' || name === 'there')
    t.equal(trees.length, 1, `${client} has its folder at one end of a move`)
    t.strictSame(readdirSync(join(client, trees[0] ?? '')).sort(), ['1', '2', '3'])
    const inside = readdirSync(client, { recursive: true, withFileTypes: true })
    for (const entry of inside.filter((each) => each.isFile())) {
      const content = readFileSync(join(entry.parentPath, entry.name), 'utf8')
      if (!isWhole(content)) t.fail(`${entry.name} of ${client} is not whole`)
    }
  }
  const part = Number(readFileSync(join(house.data, 'plugins/counter/restored/count'), 'utf8'))
  const state = Number(await counting.stored())
  const file = Number(readFileSync(join(files, owner.user.uuid, 'count'), 'utf8'))
  const counts = `part ${part}, state ${state}, file ${file}`
  t.ok(part >= state && state >= file && part - file <= 1, `${counts} are of one moment`)
  t.ok(file > rounds, counts)
})
