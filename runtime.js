/**
 * Runs a file of this repository with the Node that the repository pins: `node runtime.js FILE [ARGUMENTS]`.
 *
 * The pinned Node is an npm package for each platform. npm 11 puts it first on the PATH of scripts, npm 10
 * forgets it where several platforms are named; and the machine's own Node may be too old to read TypeScript.
 */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
const names = [`node-${platform}`, `node-bin-${platform}`]
const node = pinnedNode() ?? process.execPath
if (node === process.execPath && Number.parseInt(process.versions.node, 10) < 24) {
  console.error(
    `Nodekeep needs Node 24 or newer; this is ${process.version}. Run \`npm ci\`, which brings one.`,
  )
  process.exit(1)
}

// The report about a fatal error leaves out the environment, which holds secrets.
const options = [
  '--conditions=nodekeep-source',
  '--report-exclude-env',
  // Types are stripped for sandboxes: plugin-sdk/src/sandbox-process/stripped-sources.ts.
  '--disable-warning=ExperimentalWarning',
]
const args = [...options, ...process.argv.slice(2)]
const env = { ...process.env, PATH: [dirname(node), process.env.PATH].join(delimiter) }
// The channel tells the command of a node when this process is gone.
const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env })
let isSignaled = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    isSignaled = true
    child.kill(signal)
  })
}
stopWithScript()
// A program that started this one may talk to the node. Each of the three may be gone.
const ignore = () => {}
const parentIsGone = () => child.connected && child.disconnect()
child.on('message', (message) => {
  if (process.send) process.send(message, undefined, undefined, (error) => error && parentIsGone())
  else child.send({ nodekeep: 'no parent' }, ignore)
})
process.on('message', (message) => child.send(message, ignore))
process.on('disconnect', parentIsGone)
child.on('error', (error) => {
  console.error(`${node} cannot be run: ${error.message}`)
  process.exitCode = 1
})
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal]
  if (process.connected) process.disconnect()
})

/**
 * Stops the program when the npm script that runs it has ended. npm passes SIGTERM only to the shell of a script. Many shells
 * end then and leave their programs running.
 */
function stopWithScript() {
  if (process.env.npm_lifecycle_event === undefined) return
  const { ppid } = process
  const timer = setInterval(() => {
    if (process.ppid === ppid) return
    clearInterval(timer)
    // A second signal would end a node at once that is letting requests finish.
    if (!isSignaled) child.kill('SIGTERM')
  }, 500)
  timer.unref()
}

function pinnedNode() {
  const { resolve } = createRequire(import.meta.url)
  for (const name of names) {
    try {
      const folder = dirname(resolve(`${name}/package.json`))
      return join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    } catch {
      // The package of another platform, or none was installed.
    }
  }
  return undefined
}
