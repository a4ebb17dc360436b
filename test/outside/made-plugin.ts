import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { run } from './terminal.ts'

/**
 * Makes a plugin with the packed scaffold, as `npm create` runs it, in a folder of its own. Then it follows the README of the plugin: it
 * installs the packed SDK and kernel, runs the tests, and builds the plugin.
 *
 * @param installation the folder of a consumer, which names the tarballs
 * @returns the folder of the plugin, and the output of its tests
 */
export async function makePlugin(
  t: Test,
  installation: string,
  kind: string,
  name: string,
): Promise<{ readonly plugin: string; readonly tests: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-made-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const { dependencies } = JSON.parse(await readFile(join(installation, 'package.json'), 'utf8'))
  const fast = '--prefer-offline --no-audit --no-fund'
  await run(folder, `npm exec --yes ${fast} -- ${dependencies['create-nodekeep-plugin']} ${kind} ${name}`)
  const plugin = join(folder, name)
  const readme = await readFile(join(plugin, 'README.md'), 'utf8')
  const commands = /^```sh\n(npm install .*)\n(npm test)\n(npm run build)\n```$/m.exec(readme)
  const [install = '', test = '', build = ''] = commands?.slice(1) ?? []
  const packed = /\.\.\/nodekeep\/dist\/nodekeep-([\w-]+)-\*\.tgz/g
  await run(plugin, `${install.replaceAll(packed, (_, part) => dependencies[`@nodekeep/${part}`])} ${fast}`)
  const tests = await run(plugin, test)
  await run(plugin, build)
  return { plugin, tests }
}
