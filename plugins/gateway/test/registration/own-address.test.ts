import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { needsPrograms } from '@nodekeep/kernel/testing'
import { test } from 'tap'

const skip =
  needsPrograms('ip', 'unshare') ||
  (spawnSync('unshare', ['-rn', 'true']).status !== 0 && 'The system allows no namespaces.')

test('a name points to a node at an address on the internet', { skip }, async (t) => {
  const program = fileURLToPath(new URL('fixtures/own-address-program.ts', import.meta.url))
  const address = '198.41.0.4'
  const commands = `ip link set lo up && ip addr add ${address}/32 dev lo && exec "$@"`
  const node = [process.execPath, '--conditions=nodekeep-source', program, address]
  const { status, stdout, stderr } = spawnSync('unshare', ['-rn', 'sh', '-c', commands, 'sh', ...node], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin`, TAP: '1' },
  })
  if (status !== 0) t.comment(`${stdout}${stderr}`)
  t.equal(status, 0)
  t.match(stdout, /^ok 1 - a name points to the address that its node has proven/m)
})
