import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const root = fileURLToPath(new URL('../../', import.meta.url))

for (const [name, command, signal] of [
  ['its launcher is killed', [process.execPath, 'runtime.js', 'kernel/bin/nodekeep.js', 'start'], 'SIGKILL'],
  ['only npm gets the signal to end', ['npm', 'start', '--'], 'SIGTERM'],
] as const) {
  test(`a node of a checkout stops when ${name}`, async (t) => {
    const config = t.testdir({ 'nodekeep.json': JSON.stringify({ data: './data', plugins: {} }) })
    const { PATH, HOME, XDG_CACHE_HOME } = process.env
    const [program, ...args] = command
    const launcher = spawn(program, [...args, '--config', `${config}/nodekeep.json`, '--port', '0'], {
      cwd: root,
      env: { PATH, HOME, XDG_CACHE_HOME },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
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
    launcher.kill(signal)
    await closed
    t.match(output, 'The node is stopping.')
  })
}
