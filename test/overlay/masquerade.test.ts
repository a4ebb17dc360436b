import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { apart, needsNetworks } from './fixtures/home-network.ts'

test('a node at home is reached', { skip: needsNetworks() }, async (t) => {
  const program = fileURLToPath(new URL('fixtures/masquerade-program.ts', import.meta.url))
  const node = [process.execPath, '--conditions=nodekeep-source', program]
  const child = spawn('unshare', [...apart, ...node], { env: { ...process.env, TAP: '1' } })
  const [printed, complaints, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (status !== 0) t.comment(`${printed}${complaints}`)
  t.equal(status, 0)
  t.match(printed, /^ok 1 - a node behind a router that masquerades is reached/m)
})
