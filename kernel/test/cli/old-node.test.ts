import { execFile, execFileSync } from 'node:child_process'
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

test('the command refuses an older Node in one line', {
  skip: node === null && 'no older Node here',
}, (t) => {
  const env = { HOME: t.testdir() }
  execFile(node ?? '', [program, '--version'], { env }, (error, stdout, stderr) => {
    t.match({ code: error?.code, stdout }, { code: 1, stdout: '' })
    t.match(stderr, /^Nodekeep needs Node 24 or newer; this is v\d[^\n]+\n$/)
    t.end()
  })
})
