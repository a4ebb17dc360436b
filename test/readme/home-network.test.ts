import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { createTestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { root } from '../run/command.ts'

test('a phone signs in at the address of the machine, with the configuration of the README', async (t) => {
  const page = await readFile(join(root, 'README.md'), 'utf8')
  const [, text = ''] = /^### In your home network\n.*?```json\n(.*?)^```$/ms.exec(page) ?? []
  const { server } = JSON.parse(text) as { server: { host: string; hostnames: [string, string] } }
  t.match(server, { host: '0.0.0.0' })
  const nonceAt = async (hostnames: string[], host: string) => {
    const config = { plugins: { 'login-siwe': true }, server: { hostnames } }
    const node = await createTestNode({ folder: root, config })
    t.teardown(() => node.stop())
    // fetch sets the header Host itself.
    const [answer] = await once(get(new URL('/auth/siwe/nonce', node.url), { headers: { host } }), 'response')
    return { status: answer.statusCode, ...((await json(answer)) as object) }
  }
  const address = `${server.hostnames[0]}:4200`
  t.match(await nonceAt(server.hostnames, address), { status: 200, domain: address })
  t.notMatch(await nonceAt([], address), { domain: address }, 'without it, the node does not take that name')
})
