import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { test } from 'tap'
import { openJournal } from '../../src/journal/journal.ts'
import { journalFile } from './fixtures/temporary-journal.ts'

const rounds = 5
const script = new URL('./fixtures/crashing-writer.ts', import.meta.url).pathname

function startWriter(...args: string[]): ChildProcessByStdio<null, Readable, null> {
  return spawn(process.execPath, ['--conditions=nodekeep-source', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** Lets a writer print the given number of lines, kills it, and returns the sequence numbers of each word that it printed. */
async function killAfter(lines: number, file: string): Promise<Map<string, Set<number>>> {
  const child = startWriter(file)
  const said = new Map(['begun', 'committed', 'discarding'].map((word) => [word, new Set<number>()]))
  let count = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const [word = '', seq] = line.split(' ')
    said.get(word)?.add(Number(seq))
    count += 1
    if (count === lines) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return said
}

test('kill -9 loses no intent', async (t) => {
  const file = await journalFile(t)
  let newest = 0
  for (let round = 0; round < rounds; round += 1) {
    const lines = 1 + Math.floor(Math.random() * 1500)
    const said = await killAfter(lines, file)
    const journal = await openJournal(file)
    const pending = new Map((await journal.pending()).map((intent) => [intent.seq, intent]))
    for (const { seq } of pending.values()) await journal.resolve(seq, 'commit')
    const kept = new Map<number, { path: string; size?: number }>()
    for (const user of ['user-0', 'user-1', 'user-2']) {
      for (const change of await journal.read(user, 0, 1_000_000)) kept.set(change.seq, change)
    }
    await journal.close()

    const begun = [...(said.get('begun') ?? [])]
    const discarding = said.get('discarding') ?? new Set()
    const lost = begun.filter((seq) => !kept.has(seq) && !discarding.has(seq))
    t.strictSame(lost, [], `nothing is lost after ${lines} lines`)
    t.ok(
      begun.every((seq) => seq > newest),
      'no number is used again after a crash',
    )
    const torn = [...pending.values()].filter(
      ({ path, op, size }) => !path || op !== 'write' || size === undefined,
    )
    t.strictSame(torn, [], 'every intent is complete')
    newest = Math.max(newest, ...kept.keys())
  }
})

test('an open journal keeps no process alive', async (t) => {
  const file = await journalFile(t)
  const child = startWriter(file, 'once')
  t.strictSame(await once(child, 'exit'), [0, null])
  const journal = await openJournal(file)
  t.match(await journal.pending(), [{ userUuid: 'a', op: 'mkdir', path: '/once' }])
  await journal.close()
})
