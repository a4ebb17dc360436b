import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { needsPrograms } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { type DavNode, startDavNode } from './fixtures/dav-node.ts'
import { oddFiles } from './fixtures/odd-names.ts'
import { runProgram } from './fixtures/run-program.ts'

/** The client of rclone waits 10 ms before each request. `WEBDAV_FILES=5000` tries more files as "owncloud", and a fifth of them as "other". */
const { WEBDAV_FILES: count = '500' } = process.env

const skip = needsPrograms('rclone')

/** Returns a function that runs rclone with the remote `node:`. */
async function startRclone(t: Test, vendor: 'other' | 'owncloud', node: DavNode) {
  const { address, username, password } = node
  const obscured = (await runProgram('rclone', ['obscure', password])).output.trim()
  const env = {
    HOME: t.testdirName,
    RCLONE_CONFIG: '/dev/null',
    RCLONE_CONFIG_NODE_TYPE: 'webdav',
    RCLONE_CONFIG_NODE_URL: address,
    RCLONE_CONFIG_NODE_VENDOR: vendor,
    RCLONE_CONFIG_NODE_USER: username,
    RCLONE_CONFIG_NODE_PASS: obscured,
  }
  return async (...args: string[]) => {
    const { code, output } = await runProgram('rclone', [...args, '--transfers', '8', '--checkers', '8'], {
      env,
    })
    t.equal(code, 0, `rclone ${args[0]}: ${output.slice(-2000)}`)
    return output
  }
}

for (const [vendor, part] of [
  ['other', 5],
  ['owncloud', 1],
] as const) {
  t.test(`rclone as "${vendor}" copies files with odd names to the node and back`, { skip }, async (t) => {
    const files = oddFiles(Math.ceil(Number(count) / part))
    const folder = t.testdir({ up: {}, down: {} })
    const [up, down] = [join(folder, 'up'), join(folder, 'down')]
    for (const [path, content] of files) {
      await mkdir(dirname(join(up, path)), { recursive: true })
      await writeFile(join(up, path), content)
    }
    const node = await startDavNode(t)
    const rclone = await startRclone(t, vendor, node)
    await rclone('copy', up, 'node:up')
    await rclone('check', '--download', up, 'node:up')
    for (const [path, content] of files) {
      // The node has one name for what is equal under NFC.
      const stored = await node.read(`/up/${path.normalize('NFC')}`)
      if (stored !== content) t.equal(stored, content, path)
    }
    // Nothing is left to do: sizes are the same and, where the server keeps them, times.
    const again = await rclone('copy', '-v', '--size-only', up, 'node:up')
    t.notMatch(again, /Copied/)
    if (vendor === 'owncloud') t.notMatch(await rclone('copy', '-v', up, 'node:up'), /Copied|Updated/)

    for (const [path, content] of files) await node.write(`/down/${path}`, content)
    await rclone('copy', 'node:down', down)
    await rclone('check', '--download', 'node:down', down)
    const found = (await readdir(down, { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    )
    t.equal(found.length, files.size)
    for (const [path, content] of files) {
      const stored = await readFile(join(down, path), 'utf8')
      if (stored !== content) t.equal(stored, content, path)
    }

    await rclone('moveto', 'node:up/with space.txt', 'node:up/moved & renamed.txt')
    t.equal(await node.read('/up/moved & renamed.txt'), files.get('with space.txt'))
    t.equal(await node.read('/up/with space.txt'), null)
    await rclone('purge', 'node:up')
    t.equal(await node.read('/up/plain.txt'), null)
  })
}
