import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { root, runTool } from './command.ts'

const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))

for (const [script, usage] of Object.entries({
  test: 'Usage: npm test -- [options] [path...]',
  'test:whole': 'Usage: npm run test:whole -- [options] [path...]',
  'test:all': 'Usage: npm run test:all -- [options] [path...]',
  'test:faults': 'Usage: npm run test:faults -- [options] [part...]',
  walks: 'Usage: npm run walks -- [options]',
})) {
  test(`${script} --help prints the usage`, async (t) => {
    const [, ...command] = scripts[script].split(' ')
    const { ok, output } = await runTool('node', [...command, '--help'])
    t.ok(ok)
    t.ok(output.startsWith(`${usage}\n`), output)
  })
}
