import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const program = fileURLToPath(new URL('../../bin/nodekeep.js', import.meta.url))

/** Returns a Node on the PATH that is older than Nodekeep requires. */
function olderNode(): string | null {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const node = join(folder, 'node')
    try {
      const major = execFileSync(node, ['-p', 'parseInt(process.versions.node)'], { encoding: 'utf8' })
      if (Number(major) >= 18 && Number(major) < 24) return node
    } catch {
      // There is no Node in that folder.
    }
  }
  return null
}

const node = olderNode()

const skip = node === null && 'no older Node here'

test('the command of an installed package refuses an older Node in one line', { skip }, (t) => {
  const folder = t.testdir({ 'package.json': '{ "type": "module" }', bin: {}, dist: {} })
  const installed = join(folder, 'bin/nodekeep.js')
  copyFileSync(program, installed)
  execFile(node ?? '', [installed, '--version'], { env: { HOME: folder } }, (error, stdout, stderr) => {
    t.match({ code: error?.code, stdout }, { code: 1, stdout: '' })
    t.match(stderr, /^Nodekeep needs Node 24 or newer; this is v\d[^\n]+\n$/)
    t.end()
  })
})

test('the command of a checkout runs with the Node that the checkout pins', (t) => {
  const env = { HOME: t.testdir() }
  execFile(node ?? process.execPath, [program, 'plugins', 'nonsense'], { env }, (error, stdout, stderr) => {
    t.match({ code: error?.code, stdout }, { code: 1, stdout: '' })
    t.match(stderr, /nonsense/)
    t.end()
  })
})
