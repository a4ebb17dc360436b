import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { root } from '../run/command.ts'
import { type Outside, tarball } from './packages.ts'
import { run, type StartedNode, start } from './terminal.ts'
import { readTutorial, type TutorialStep } from './tutorial-steps.ts'

/** Follows the tutorial of the SDK in an empty folder. */
export async function followTutorial(t: Test, outside: Outside): Promise<void> {
  const steps = readTutorial(await readFile(join(root, 'plugin-sdk/README.md'), 'utf8'))
  t.strictSame(count(steps), { write: 5, run: 8, expect: 1 })

  const folder = join(outside.folder, 'visits')
  await mkdir(folder)
  let node: StartedNode | undefined
  let printed = ''
  for (const step of steps) {
    if (step.kind === 'write') {
      await mkdir(dirname(join(folder, step.path)), { recursive: true })
      await writeFile(join(folder, step.path), step.content)
    } else if (step.kind === 'expect') {
      t.equal(printed.trim(), step.output)
    } else if (step.command === 'node_modules/.bin/nodekeep start') {
      node = await start(t, folder, step.command, { PORT: '0' })
    } else {
      printed = await run(folder, localCommand(step.command, outside, node))
    }
  }
  const built = () => readFile(join(folder, 'dist/index.js'), 'utf8')
  t.match(await built(), 'definePlugin')

  await writeFile(join(folder, 'src/greeting.ts'), "export const greeting = 'Hello'\n")
  await appendFile(join(folder, 'src/index.ts'), "export { greeting } from './greeting.ts'\n")
  await run(folder, 'npm run build')
  t.match(await built(), "'./greeting.js'", 'a second source file can be imported')
}

/** Returns the command with our tarballs as packages and the free port of the node. */
function localCommand(command: string, outside: Outside, node: StartedNode | undefined): string {
  const local = command.replace('http://127.0.0.1:4200', node?.url.origin ?? '')
  if (!command.startsWith('npm install ')) return local
  const packed = /\.\.\/nodekeep\/dist\/nodekeep-([\w-]+)-\*\.tgz/g
  const named = local.replaceAll(packed, (_, name) => tarball(outside, `@nodekeep/${name}`))
  return `${named} --prefer-offline --no-audit --no-fund`
}

function count(steps: readonly TutorialStep[]) {
  const kinds = { write: 0, run: 0, expect: 0 }
  for (const { kind } of steps) kinds[kind] += 1
  return kinds
}
