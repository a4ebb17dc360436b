import { definePlugin, defineService, type Plugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createTestNode } from '../../src/testing/create-test-node.ts'
import { startSwitchNode } from './switch-node.ts'

const Word = defineService<string>('word', 1)

function speaker(onServing: () => void | Promise<void>): Plugin {
  return definePlugin({
    id: 'speaker',
    provides: { word: Word },
    setup(context) {
      context.onServing(onServing)
      return { word: 'hello' }
    },
  })
}

test('onServing runs in the order of setup, after every onStart', async (t) => {
  const steps: string[] = []
  const listener = definePlugin({
    id: 'listener',
    requires: { word: Word },
    setup({ onStart, onServing }) {
      onServing(() => void steps.push('listener serves'))
      onStart(() => void steps.push('listener starts'))
    },
  })
  const node = await createTestNode({ plugins: [listener, speaker(() => void steps.push('speaker serves'))] })
  t.teardown(() => node.stop())
  t.strictSame(steps, ['listener starts', 'speaker serves', 'listener serves'])
})

test('a plugin that is enabled later serves at once', async (t) => {
  let served = 0
  const node = await createTestNode({
    plugins: [speaker(() => void served++)],
    config: { plugins: { speaker: { required: false } } },
  })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  for (const change of ['disable', 'enable']) {
    const { status } = await owner.fetch(`/api/system/plugins/speaker/${change}`, { method: 'POST' })
    t.equal(status, 200)
  }
  t.equal(served, 2)
})

test('an optional plugin that fails in onServing stops, and those for which it is optional start again without it', async (t) => {
  const words: (string | undefined)[] = []
  const listener = definePlugin({
    id: 'listener',
    optional: { word: Word },
    setup({ word }) {
      words.push(word)
    },
  })
  const node = await createTestNode({
    plugins: [speaker(() => Promise.reject(new Error('no voice'))), listener],
    config: { plugins: { speaker: { required: false } } },
  })
  t.teardown(() => node.stop())
  const [failed, active] = node.plugins()
  t.match(failed, { id: 'speaker', state: 'failed', phase: 'serving', reason: 'no voice' })
  t.match(active, { id: 'listener', state: 'active' })
  t.strictSame(words, ['hello', undefined])
})

test('the node stops when a required plugin fails in onServing', async (t) => {
  const broken = speaker(() => {
    throw new Error('no voice')
  })
  await t.rejects(createTestNode({ plugins: [broken] }), /speaker.*failed \(serving\): no voice/s)
})

test('onServing has the time limit of onStart', async (t) => {
  const config = { loader: { startTimeoutMs: 50 } }
  const slow = speaker(() => new Promise(() => {}))
  await t.rejects(createTestNode({ plugins: [slow], config }), /Its onServing took longer than 50 ms/)
})

test('a plugin that the stop of the node ends in onServing has stopped, not failed', async (t) => {
  const begun = Promise.withResolvers<void>()
  let times = 0
  const slow = speaker(() => {
    times += 1
    if (times === 1) return
    begun.resolve()
    return new Promise(() => {})
  })
  const config = { plugins: { speaker: { required: false } } }
  const { node, switchPlugin } = await startSwitchNode(t, [slow], { config })
  await switchPlugin('speaker', 'disable')
  const answer = switchPlugin('speaker', 'enable')
  await begun.promise
  await node.stop()
  t.match(await (await answer).json(), { plugin: { state: 'stopped', reason: null } })
})
