import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const root = fileURLToPath(new URL('../../', import.meta.url))

test('a node of a checkout stops when its launcher is killed', async (t) => {
  const config = t.testdir({ 'nodekeep.json': JSON.stringify({ data: './data', plugins: {} }) })
  const { PATH, XDG_CACHE_HOME } = process.env
  const launcher = spawn(
    process.execPath,
    ['runtime.js', 'kernel/bin/nodekeep.js', 'start', '--config', `${config}/nodekeep.json`, '--port', '0'],
    { cwd: root, env: { PATH, XDG_CACHE_HOME }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  t.teardown(() => launcher.kill('SIGKILL'))
  let output = ''
  const ready = Promise.withResolvers<void>()
  launcher.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (output.includes('The node is ready.')) ready.resolve()
  })
  await ready.promise
  // The node has the other end of the pipe, so the pipe closes when the node has ended.
  const closed = once(launcher.stdout, 'close')
  launcher.kill('SIGKILL')
  await closed
  t.match(output, 'The node is stopping.')
})
