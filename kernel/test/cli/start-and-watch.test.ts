// In a process of its own: it waits for changes of files, which the other files of the group would delay.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const program = fileURLToPath(new URL('../../bin/nodekeep.js', import.meta.url))
const sdk = JSON.stringify(import.meta.resolve('@nodekeep/plugin-sdk'))

/** The source of a plugin that answers with a text. */
const plugin = (text: string) => `
import { definePlugin } from ${sdk}
export default definePlugin({
  id: 'greeting',
  setup: ({ routes }) => routes((app) => {
    app.get('/greeting', { config: { access: 'public', publicReason: 'It greets.' } }, async () => '${text}')
  }),
})`

const manifest = JSON.stringify({
  name: 'greeting',
  version: '1.0.0',
  type: 'module',
  nodekeep: { id: 'greeting', sdk: '^0.1.0', entry: 'index.js' },
})

/** `nodekeep start --watch`, and a plugin in the folder of its configuration. */
async function watchedNode(t: Test, base: string) {
  const folder = t.testdir({
    'package.json': manifest,
    'index.js': plugin('one'),
    'nodekeep.json': JSON.stringify({ extends: './base.json', plugins: { greeting: { from: '.' } } }),
    'base.json': base,
    node_modules: {},
    src: {},
  })
  const { PATH, XDG_CACHE_HOME } = process.env
  const args = ['--conditions=nodekeep-source', program, 'start', '--watch', '--port', '0']
  const parent = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH, XDG_CACHE_HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  // The node has the other ends of the pipes too, so they close when both processes have ended.
  const ended = once(parent, 'close')
  t.teardown(() => parent.kill('SIGKILL'))
  let output = ''
  let from = 0
  let look = () => {}
  for (const stream of [parent.stdout, parent.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      look()
    })
  }
  return {
    /** Replaces a file in one step, as editors do. */
    async write(name: string, text: string) {
      await writeFile(join(folder, '.draft'), text)
      await rename(join(folder, '.draft'), join(folder, name))
    },
    /** Makes a folder with files, and its parent, in one step. */
    async make(name: string, files: Readonly<Record<string, string>>) {
      const draft = join(folder, '.made')
      const inner = join(draft, basename(name))
      await mkdir(inner, { recursive: true })
      for (const [file, text] of Object.entries(files)) await writeFile(join(inner, file), text)
      await rename(draft, join(folder, dirname(name)))
    },
    /** Waits until the processes have printed this after what was waited for before. Resolves with the first group. */
    async printed(expected: RegExp): Promise<string> {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      look = () => {
        const found = expected.exec(output.slice(from))
        if (found === null) return
        from += found.index + found[0].length
        look = () => {}
        resolve(found[1] ?? '')
      }
      look()
      ended.then(() => reject(new Error(`It ended before: ${output.slice(from)}`)))
      return promise
    },
    output: () => output,
    /** Signals the watch alone, or with the node, as Ctrl+C does. Waits for the end of both. */
    async end(signal: NodeJS.Signals, { both = false } = {}) {
      process.kill(both ? -Number(parent.pid) : Number(parent.pid), signal)
      return ended
    },
  }
}

const ready = /"url":"([^"]+)".*"The node is ready\."/
const idle = /The node has ended\. It starts again at the next change\./
const base = JSON.stringify({ data: './data' })

test('a node starts again with what was changed, and waits until a mistake is mended', async (t) => {
  const node = await watchedNode(t, '{ "data": ')
  const greeting = async () => {
    const url = await node.printed(ready)
    return (await fetch(new URL('/greeting', url))).text()
  }
  t.equal(
    await node.printed(/nodekeep: The node starts again at a change of (.*)\n/),
    'nodekeep.json, base.json.',
  )
  await node.printed(/nodekeep: base\.json:1 is not valid JSON/)
  await node.printed(idle)
  await node.write('base.json', base)
  await node.printed(/base\.json has changed\. The node starts again\./)
  t.equal(await greeting(), 'one')

  await node.write('index.js', plugin('two'))
  t.equal(await greeting(), 'two', 'a changed plugin')

  await node.write('index.js', 'export default definePlugin({')
  await node.printed(/nodekeep: The node cannot start[\s\S]*greeting[\s\S]*index\.js/)
  await node.printed(idle)
  await node.write('index.js', plugin('three'))
  t.equal(await greeting(), 'three', 'a plugin that was mended')

  await node.write('package.json', '{')
  await node.printed(/package\.json cannot be read/)
  await node.printed(idle)
  await node.write('package.json', manifest)
  t.equal(await greeting(), 'three', 'a manifest that was mended')

  // Neither libraries, hidden files, data nor sources that a compiler reads are named as the reason.
  await node.write('node_modules/library.js', '')
  await node.write('.hidden', '')
  await node.write('data/file', '')
  await node.write('src/index.ts', '')
  await node.write('nodekeep.json', JSON.stringify({ extends: './base.json' }))
  await node.printed(/nodekeep: nodekeep\.json has changed/)
  const url = await node.printed(ready)
  t.equal((await fetch(new URL('/greeting', url))).status, 404, 'a plugin that is configured no more')

  t.strictSame(await node.end('SIGINT', { both: true }), [0, null])
  const reasons = Array.from(node.output().matchAll(/nodekeep: (\S+) has changed/g), ([, file]) => file)
  t.strictSame([...new Set(reasons)], ['base.json', 'index.js', 'package.json', 'nodekeep.json'])
})

test('a plugin whose folder is missing is found when somebody makes the folder', async (t) => {
  const node = await watchedNode(
    t,
    JSON.stringify({ data: './data', plugins: { later: { from: './made/later' } } }),
  )
  await node.printed(idle)
  await node.make('made/later', {
    'package.json': manifest.replaceAll('greeting', 'later'),
    'index.js': plugin('here').replaceAll('greeting', 'later'),
  })
  await node.printed(/nodekeep: made\S* has changed/)
  const url = await node.printed(ready)
  t.equal(await (await fetch(new URL('/later', url))).text(), 'here')
  t.strictSame(await node.end('SIGTERM'), [0, null])
})

test('a killed watch leaves no node behind', async (t) => {
  const node = await watchedNode(t, base)
  await node.printed(ready)
  t.strictSame(await node.end('SIGKILL'), [null, 'SIGKILL'])
  t.match(node.output(), 'The node is stopping.')
})

test('a watch that waits for a change ends at once', async (t) => {
  const node = await watchedNode(t, '{')
  await node.printed(idle)
  t.strictSame(await node.end('SIGTERM'), [0, null])
})
