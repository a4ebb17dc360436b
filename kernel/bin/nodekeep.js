#!/usr/bin/env node
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
// A named import would fail in an older Node before the message about its version is printed.
import * as module from 'node:module'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const notInstalled =
  'The supervisor, the service, and the commands that add and remove plugins are in the package "@nodekeep/update", which is not installed beside this kernel. Without it, run "nodekeep start".'
const runtime = new URL('../../runtime.js', import.meta.url)
const isCheckout = !existsSync(new URL('../dist/', import.meta.url)) && existsSync(runtime)

// A checkout has sources only. It runs them with the Node that it pins.
if (isCheckout && !process.execArgv.includes('--conditions=nodekeep-source')) {
  process.argv.splice(2, 0, fileURLToPath(import.meta.url))
  await import(runtime.href)
} else {
  stopWithLauncher()
  excludeEnvironmentFromReports()
  await runCommand()
}

/** Stops the node of a checkout when its launcher, `runtime.js`, is gone. */
function stopWithLauncher() {
  if (!isCheckout || process.channel === undefined) return
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}

/**
 * Starts this command again, in the same process, with an option of Node that nothing can set later: reports about fatal
 * errors leave out the environment, which holds secrets. Where that is not possible, as on Windows, the node writes no reports.
 */
function excludeEnvironmentFromReports() {
  const [, , command = 'start'] = process.argv
  const starts = command === 'start' || command.startsWith('-')
  // A start in the same process would lose a socket that was passed.
  if (process.env.LISTEN_FDS !== undefined) return
  if (!starts || process.report.excludeEnv || process.channel !== undefined) return
  try {
    const args = [...process.execArgv, '--report-exclude-env', ...process.argv.slice(1)]
    process.execve(process.execPath, [process.execPath, ...args])
  } catch {
    // Without `process.execve`, the node starts here.
  }
}

async function runCommand() {
  if (Number.parseInt(process.versions.node, 10) < 24) {
    console.error(
      `Nodekeep needs Node 24 or newer; this is ${process.version}. See https://nodejs.org/download.`,
    )
    process.exit(1)
  }
  // Node caches compiled code in a private folder, which makes later starts faster. Its default is the system's temporary
  // folder, where other users could place their own code.
  const cache = privateFolder()
  if (cache !== null) {
    module.enableCompileCache(cache)
    // Threads and processes of plugins use the same cache. Otherwise each would compile everything again.
    process.env.NODE_COMPILE_CACHE ??= cache
  }
  const args = process.argv.slice(2)
  // The supervisor runs for years beside the node. It stays small without the command line.
  if (args[0] === 'supervise' && !args.includes('--describe')) return supervise(args)
  const { run, failCommand } = await import('#command-line')
  try {
    await run(args, await otherCommands(args))
  } catch (error) {
    await failCommand(explained(error), args)
  }
}

/** Runs the supervisor of this release, whatever the configuration says about plugins. */
async function supervise(args) {
  try {
    const { runSupervisor } = await import('@nodekeep/update/supervisor')
    const command = [process.execPath, ...process.execArgv, process.argv[1]]
    process.exit(await runSupervisor(args.slice(1), command))
  } catch (error) {
    const { failCommand } = await import('#command-line')
    await failCommand(explained(error), args)
  }
}

/** Returns what makes the commands of the package that has them. Other commands do not need it, nor one that fits. */
async function otherCommands(args) {
  try {
    const [{ serviceCommand }, { pluginsCommand }] = await Promise.all([
      import('@nodekeep/update/service'),
      import('@nodekeep/update/plugins'),
    ])
    return [serviceCommand, pluginsCommand]
  } catch (error) {
    const [command, subcommand] = args
    if (command === 'service' || (command === 'plugins' && subcommand !== 'list')) throw error
    return []
  }
}

/** Explains that the package with such a command is not installed. A file that is missing in it is another error. */
function explained(error) {
  const isMissing = error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes("'@nodekeep/update'")
  return isMissing ? new Error(notInstalled, { cause: error }) : error
}

/** Returns a folder that only this user can write to, whatever the umask; `null` for a user without a home folder. */
function privateFolder() {
  const { XDG_CACHE_HOME: given = '' } = process.env
  try {
    const folder = join(isAbsolute(given) ? given : join(homedir(), '.cache'), 'nodekeep')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    chmodSync(folder, 0o700)
    return folder
  } catch {
    return null
  }
}
