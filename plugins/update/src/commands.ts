import { setTimeout } from 'node:timers/promises'
import {
  answerInTime,
  answerOf,
  type CommandContext,
  defineCommands,
  type NodeClient,
  runningNode,
} from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { UpdateConfiguration } from './configuration.ts'

type Context = CommandContext<UpdateConfiguration>

type Outcome = NodeAnswers['POST /api/update/install']

/** The remedy if no node runs. */
const startIt = 'Start it with `nodekeep supervise`, then try again.'

/** How often the progress of an update is asked for, in milliseconds. */
const askEveryMs = 500
/** The longest time without an answer while the version changes, in milliseconds. */
const changeMs = 10 * 60_000

/** The commands `nodekeep update …`. They ask the running node. */
export default defineCommands<UpdateConfiguration>({
  async status(context) {
    const node = await runningNode(context, startIt)
    const [{ version, commit, buildDate }, status, details, { progress }] = await Promise.all([
      get(node, 'version'),
      get(node, 'status'),
      get(node, 'details'),
      get(node, 'progress'),
    ])
    const { wayBack } = details
    context.output.state({
      version,
      commit,
      'build date': buildDate,
      newest: status.latestVersion,
      'last check': details.checkedAt ?? 'never',
      'check problem': details.checkProblem ?? 'none',
      progress,
      'way back': wayBack === null ? 'none' : `to ${wayBack.version}, until ${wayBack.until}`,
      'probation until': details.probationUntil ?? 'none',
    })
    if (details.installProblem !== null) context.output.lines(details.installProblem)
    if (wayBack !== null && wayBack.problems.length > 0)
      context.output.lines(
        `Before you go back, correct the configuration, which version ${wayBack.version} refuses:`,
        ...wayBack.problems,
      )
    if (details.withoutWayBack !== null)
      context.output.lines(
        `After the update to ${details.withoutWayBack}, there is no way back to ${version}.`,
      )
    for (const { before, folder, bytes, until } of details.copies)
      context.output.lines(
        `Copies of the databases from before version ${before} take ${Math.ceil(bytes / 2 ** 20)} MiB until ${until}: ${folder}`,
      )
    if (status.updateAvailable) context.output.lines('', ...linesOf(status.releaseNotes))
  },

  async check(context) {
    const node = await runningNode(context, startIt)
    const { updateAvailable, latestVersion } = await post(node, 'check')
    context.output.state({ 'update available': updateAvailable, newest: latestVersion })
    if (updateAvailable) context.output.lines(...linesOf((await get(node, 'status')).releaseNotes))
    const { installProblem } = await get(node, 'details')
    if (installProblem !== null) context.output.lines(installProblem)
  },

  async install(context) {
    const node = await runningNode(context, startIt)
    const line = context.output.progress('update')
    try {
      const before = await get(node, 'version')
      const installing = install(context, node)
      const outcome = await withProgress(installing, async () => {
        const { progress, percent } = await get(node, 'progress')
        line.update((percent ?? 0) / 100, progress)
      })
      if (!outcome.success) return context.output.state({ version: before.version, result: outcome.message })
      if (context.options.json !== true) context.output.lines(outcome.message)
      const { version, result } = await changed(context, node, before.version)
      line.end()
      context.output.state({ version, result })
      if (version === before.version) process.exitCode = 1
    } finally {
      line.end()
    }
  },

  async back(context) {
    const node = await runningNode(
      context,
      '`nodekeep supervise --back` goes back to the version before, and starts it.',
    )
    const { wayBack } = await get(node, 'details')
    const question = `Go back to version ${wayBack?.version}, with the data as it is now?`
    if (wayBack !== null && context.options.yes !== true && !(await context.confirm(question)))
      throw new Error('Nothing was changed. With --yes, the command does not ask.')
    const before = await get(node, 'version')
    const { message } = await post(node, 'back')
    if (context.options.json !== true) context.output.lines(message)
    const { version, result } = await changed(context, node, before.version)
    context.output.state({ version, result })
  },

  async history(context) {
    const { attempts } = await get(await runningNode(context, startIt), 'history')
    context.output.table(
      attempts.map(({ startedAt, from, to, result, reason }) => ({
        started: startedAt,
        from,
        to,
        result,
        reason,
      })),
      'There was no update yet.',
    )
  },
})

/** The terminal shows a line break within a line as an escape. */
function linesOf(notes: string): string[] {
  return notes.trim().split(/\r?\n/)
}

function get<Name extends 'version' | 'status' | 'details' | 'progress' | 'history'>(
  node: NodeClient,
  name: Name,
): Promise<NodeAnswers[`GET /api/update/${Name}`]> {
  return answerOf(node.fetch(`/api/update/${name}`))
}

function post<Name extends 'check' | 'back'>(
  node: NodeClient,
  name: Name,
): Promise<NodeAnswers[`POST /api/update/${Name}`]> {
  return answerOf(node.fetch(`/api/update/${name}`, { method: 'POST' }))
}

/** Installs the newest version. The progress tells the end of a download that takes long. */
async function install({ options, signal }: Context, node: NodeClient): Promise<Outcome> {
  const query = options.withoutWayBack === true ? '?withoutWayBack=true' : ''
  const outcome = await answerInTime<Outcome>(node.fetch(`/api/update/install${query}`, { method: 'POST' }))
  if (outcome !== null) return outcome
  for (;;) {
    await setTimeout(askEveryMs, undefined, { signal })
    const { step, progress } = await get(node, 'progress')
    if (step === null) throw new Error(progress)
    if (step === 'changing') return { success: true, message: progress }
  }
}

async function withProgress<T>(work: Promise<T>, show: () => Promise<void>): Promise<T> {
  const timer = setInterval(() => void show().catch(() => {}), askEveryMs)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}

/** Waits until another version answers, or the update has ended without one. Meanwhile the node does not answer for some seconds. */
async function changed(
  { signal }: Context,
  node: NodeClient,
  former: string,
): Promise<{ readonly version: string; readonly result: string }> {
  const end = performance.now() + changeMs
  for (;;) {
    await setTimeout(askEveryMs, undefined, { signal })
    const answers = Promise.all([get(node, 'version'), get(node, 'progress')])
    const [running, state] = await answers.catch(() => [null, null])
    if (running !== null && running.version !== former)
      return { version: running.version, result: `Version ${running.version} runs.` }
    if (state !== null && !state.isUpdating && running !== null)
      return { version: running.version, result: state.progress }
    if (performance.now() > end) throw new Error('The node does not answer any more. Look into its log.')
  }
}
