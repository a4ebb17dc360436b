import assert from 'node:assert/strict'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { InstalledNode } from '../update/installed-node.ts'
import type { Fault, Round } from './fault.ts'
import { nextVersion, onInstalledNode } from './fixtures/node-of-round.ts'

const steps = ['download', 'unpack', 'preparing', 'trial', 'admitting', 'going back'] as const
type Step = (typeof steps)[number]

/** The longest time between the begin of a step and the kill, in milliseconds. */
const spread: Readonly<Record<Step, number>> = {
  download: 200,
  unpack: 3000,
  preparing: 400,
  trial: 2500,
  admitting: 300,
  'going back': 800,
}

/** Returns the processes that the supervisor has started and that live. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text.split(' ').filter(Boolean).map(Number)
}

async function storedStep(node: InstalledNode): Promise<string | null> {
  const text = await readFile(join(node.releases, 'state.json'), 'utf8').catch(() => 'null')
  return (JSON.parse(text) as { change: { step: string } | null } | null)?.change?.step ?? null
}

/** Waits until an update is in a step or beyond it. */
async function reached(node: InstalledNode, step: Step, version: string, signal: AbortSignal): Promise<void> {
  const order = ['preparing', 'trial', 'admitting']
  const names = (folder: string) => readdir(folder).catch(() => [])
  for (;;) {
    signal.throwIfAborted()
    const stored = await storedStep(node)
    const isThere =
      step === 'download'
        ? (await names(join(node.folder, 'data/plugins/update-tuf/downloads'))).length > 0
        : step === 'unpack'
          ? (await names(join(node.releases, 'new', version))).length > 0
          : step === stored
    if (isThere || order.indexOf(stored ?? '') > order.indexOf(step)) return
    if ((await readlink(join(node.releases, 'current'))) === version && stored === null) return
    await delay(2)
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/** Waits until no update runs, and checks that one version runs, with everything that was accepted. */
async function checkWhole(node: InstalledNode, allowed: readonly string[], signal: AbortSignal) {
  await node.answers(signal)
  while ((await storedStep(node)) !== null) {
    signal.throwIfAborted()
    await delay(50)
  }
  await node.answers(signal)
  const version = await node.version()
  assert.ok(allowed.includes(version), `${version} runs`)
  const current = await readlink(join(node.releases, 'current'))
  assert.ok(basename(current).endsWith(version), `current leads to ${current}`)
  assert.equal((await childrenOf(node.pid)).length, 1, 'the supervisor runs one node')
  assert.deepEqual((await node.lost()).lost, [], 'accepted writes are lost')
  return version
}

export default {
  name: 'After a kill of node or supervisor at any step of an update, one healthy version runs with all data, and updates itself.',
  defaultRounds: 30,
  roundSeconds: 400,
  async round(round: Round) {
    const { random, signal, log } = round
    const step = random.pick(steps)
    const victim = random.pick(['node', 'supervisor', 'both'])
    const afterMs = random.integer(0, spread[step])
    log(`The ${victim} is killed ${afterMs} ms after the step "${step}" began.`)
    await onInstalledNode(round, {}, async (node, server) => {
      const version = nextVersion()
      await server.publish(version)
      await node.write()
      await node.during(async () => {
        const updating = node.update().catch(() => null)
        if (step === 'going back') {
          await updating
          await node.attempt(1, signal)
          await node.ask('/api/update/back', { method: 'POST' })
        } else await reached(node, step, version, signal)
        await delay(afterMs)
        const nodes = await childrenOf(node.pid)
        if (victim !== 'node') await node.end('SIGKILL')
        if (victim !== 'supervisor') for (const pid of nodes) kill(pid)
        if (victim !== 'node') node.start()
        await updating
        await node.answers(signal)
      })
      const after = await checkWhole(node, ['0.1.0', version], signal)
      // Those of a version that clients have reached stay.
      const [newest] = await node.history()
      const copies = (await readdir(node.releases)).filter((name) => name.startsWith('before-'))
      if (newest?.result === 'failed') assert.deepEqual(copies, [])
      if (after === version) return
      // Nothing of the update that was killed stands in the way of the next one.
      const attempts = (await node.history()).length
      const { status, body } = await node.update()
      assert.equal(status, 200, body.message)
      const attempt = await node.attempt(attempts + 1, signal)
      assert.equal(attempt.result, 'installed', attempt.reason ?? '')
      await checkWhole(node, [version], signal)
    })
  },
} satisfies Fault
