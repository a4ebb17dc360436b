import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { configurationOf, type FailingPlugin, failingPlugins, fixtures, idOf } from './failing-plugins.ts'

/** Returns the error of a node that requires the plugin. */
async function bootError(failing: FailingPlugin, dataFolder: string): Promise<Error> {
  const config = configurationOf([failing], true)
  try {
    const node = await createTestNode({ folder: fixtures, dataFolder, config })
    await node.stop()
  } catch (error) {
    return error as Error
  }
  throw new Error('the node started')
}

async function checkError(t: Test, failing: FailingPlugin, dataFolder: string): Promise<void> {
  const id = idOf(failing)
  const error = await bootError(failing, dataFolder)
  const [first, line = '', hint, ...rest] = error.message.split('\n')
  t.equal(error.name, 'BootFailure')
  t.equal(first, 'The node cannot start, since a required plugin is not up:')
  const state = failing.phase === null ? failing.state : `${failing.state} (${failing.phase})`
  const head = `  "${id}" (the given configuration) is ${state}: `
  t.equal(
    line.slice(0, head.length),
    head,
    'the error names the plugin, its configuration file and its state',
  )
  t.match(line.slice(head.length), failing.reason, 'the error has the reason')
  t.match(hint, `set "plugins": { "${id}": { "required": false } }`, 'the error has the remedy')
  t.same(rest, [], 'the error has no further lines')
}

async function temporaryFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-required-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const { hanging = [], ending = [] } = Object.groupBy(failingPlugins, (failing) =>
  idOf(failing).startsWith('hangs') ? 'hanging' : 'ending',
)

test('a required plugin that fails ends the start with one error', async (t) => {
  const dataFolder = await temporaryFolder(t)
  for (const failing of ending) {
    // All tests share one data folder: a start that fails leaves no lock.
    t.test(idOf(failing), (t) => checkError(t, failing, dataFolder))
  }
})

test('a required plugin that hangs ends the start with one error', { jobs: hanging.length }, async (t) => {
  for (const failing of hanging) {
    t.test(idOf(failing), async (t) => {
      const dataFolder = await temporaryFolder(t)
      await checkError(t, failing, dataFolder)
      for (const other of ending.slice(0, 1)) await checkError(t, other, dataFolder)
    })
  }
})

test('one error lists several failed plugins', async (t) => {
  const several = failingPlugins.filter(({ state }) => state === 'failed').slice(0, 6)
  const config = configurationOf(several, true)
  const error = await createTestNode({ folder: fixtures, config }).catch((error: Error) => error)
  t.type(error, Error)
  const { message } = error as Error
  t.match(message, /6 required plugins are not up:/)
  for (const failing of several) t.match(message, `"${idOf(failing)}" (the given configuration) is failed`)
})
