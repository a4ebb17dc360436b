import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { needsPrograms } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { changed } from '../deploy/proxies.ts'
import { freePorts } from '../free-ports.ts'
import { outcome, root, startTool } from '../run/command.ts'
import { runNode } from './fixtures/run-node.ts'

test('the commands that try a gateway and a node on one machine work as written', {
  skip: needsPrograms('openssl', 'curl'),
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-try-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const page = await readFile(join(root, 'plugins/gateway/README.md'), 'utf8')
  const block = /^## Try it on one machine.*?```sh\n(.*?)^```$/ms.exec(page)?.[1] ?? ''
  const commands = block
    .trim()
    .split('\n')
    .map((line) => line.replace(/ +#.*/, ''))
  const [install, certificate = '', gateway = '', node = '', check = '', ...others] = commands
  t.equal(install, 'npm ci')
  t.same(others, [], 'this test runs all commands')

  const controlPort = await freePorts(2)
  const httpsPort = `${controlPort + 1}`
  // The folder stands for the checkout. Only the ports differ.
  const start = async (command: string, differing: Readonly<Record<string, string>>) => {
    const [, file = ''] = /^npm start -- --config (\S+)$/.exec(command) ?? []
    const config = join(folder, file)
    await mkdir(dirname(config), { recursive: true })
    await writeFile(config, changed(await readFile(join(root, file), 'utf8'), differing))
    return runNode(t, ['--config', config], { PORT: '0' })
  }
  const inFolder = (command: string) => outcome(startTool('sh', ['-c', `cd '${folder}' && ${command}`]))

  const made = await inFolder(certificate)
  t.ok(made.ok, made.output)
  await start(gateway, {
    '"control": {': `"control": { "port": ${controlPort},`,
    '8443': httpsPort,
  })
  const { line } = await start(node, {
    '"gateway": "127.0.0.1"': `"gateway": "127.0.0.1:${controlPort}"`,
    '8443': httpsPort,
  })
  await line(/^Clients reach the node at https:/)
  const asked = await inFolder(changed(check, { '8443': httpsPort }))
  t.ok(asked.output.includes('"status":"ok"'), asked.output)
})
