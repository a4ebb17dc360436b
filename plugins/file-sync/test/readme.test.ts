import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { needsPrograms } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { configuration } from '../src/configuration.ts'
import { mostBlocks, mostHashes } from '../src/protocol/bodies.ts'
import { largestBlock } from '../src/protocol/content-blocks.ts'
import {
  clientMessages,
  longestClientMessage,
  mostChanges,
  serverMessages,
} from '../src/protocol/messages.ts'
import { createSyncNode, put } from './fixtures/sync-node.ts'

const readme = await readFile(join(import.meta.dirname, '../README.md'), 'utf8')

test('the README has the schemas of all messages', async (t) => {
  const blocks = [...readme.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) => JSON.parse(json ?? ''))
  t.same(blocks, JSON.parse(JSON.stringify([clientMessages, serverMessages])))
})

test('the README has the keys and the limits', async (t) => {
  // Former keys have no default.
  const keys = Object.entries(configuration.properties).filter(([, schema]) => 'default' in schema)
  const rows = keys.map(([key, schema]) => {
    const { default: value, description } = schema as unknown as Record<string, unknown>
    return `| \`${key}\` | \`${value}\` | ${description} |`
  })
  for (const row of rows) t.ok(readme.includes(row), row)
  for (const text of [
    `at most ${longestClientMessage.toLocaleString('en')} bytes`,
    `at most ${mostChanges.toLocaleString('en')} changes`,
    `at most ${mostHashes.toLocaleString('en')} files`,
    `${mostBlocks.toLocaleString('en')} blocks`,
    `a block at most ${largestBlock / 1024 ** 2} MiB`,
  ]) {
    t.ok(readme.includes(text), text)
  }
})

test('the command of the README runs', { skip: needsPrograms('curl') }, async (t) => {
  const node = await createSyncNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const revision = await put(ada, '/cat.jpg', 'cat')
  const [, command = ''] = /```sh\n([\s\S]*?)```/.exec(readme) ?? []
  const env = { ...process.env, NODE: node.url.origin, TOKEN: ada.token }
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-c', command.replace('1a15r-dn22tqmor0x4-3', revision)],
    { env },
  )
  t.match(JSON.parse(stdout).hashes, [{ path: '/cat.jpg', revision, sha256: /^[0-9a-f]{64}$/ }])
})
