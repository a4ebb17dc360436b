import { isNodekeepError, type NodeInfo, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { Probation } from '../probation/probation.ts'
import type { NodeReleases } from '../releases/node-releases.ts'
import type { RecordFile } from '../state/update-record.ts'
import { stepNames, type Updates } from '../updates.ts'

interface RouteServices {
  readonly info: NodeInfo
  readonly updates: Updates
  readonly releases: Pick<NodeReleases, 'rollback' | 'rollbackProblems' | 'databaseCopies'>
  readonly file: Pick<RecordFile, 'record'>
  readonly probation: Pick<Probation, 'until'>
  readonly automatic: boolean
}

const forUsers = { scope: 'update' } as const
const forOwner = { access: 'owner', scope: 'update' } as const

const nullable = (description: string, options: { format?: 'date-time' } = {}) =>
  Type.Union([Type.String(options), Type.Null()], { description })
const dateTime = (description: string) => nullable(description, { format: 'date-time' })

const Details = Type.Object({
  checkedAt: dateTime('When the source of updates last answered.'),
  checkProblem: nullable('Why the last check failed.'),
  automatic: Type.Boolean({ description: 'Whether new versions are installed without a person.' }),
  installProblem: nullable('Why this node cannot install updates, and what to do instead.'),
  wayBack: Type.Union(
    [
      Type.Object({
        version: Type.String(),
        until: Type.String({
          format: 'date-time',
          description: 'The time until which the node can go back.',
        }),
        problems: Type.Array(Type.String(), {
          description:
            'The parts of the configuration that keep the version from starting, such as a key that it does not know. Only the owner sees them.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'The version to which the node can go back, with the data as it is then.' },
  ),
  probationUntil: dateTime(
    'The end of the probation of a new version. If the version does not work until then, the node goes back.',
  ),
  withoutWayBack: nullable('A newer version after which there would be no way back to this one.'),
  copies: Type.Array(
    Type.Object({
      before: Type.String({ description: 'The version that started after they were made.' }),
      folder: Type.String(),
      bytes: Type.Integer(),
      until: Type.String({
        format: 'date-time',
        description: 'The time until which they stay, unless an update replaces them.',
      }),
    }),
    {
      description:
        'Copies of all databases from directly before the last update, for a person. Only the owner sees them.',
    },
  ),
})

const History = Type.Object({
  attempts: Type.Array(
    Type.Object({
      from: Type.String(),
      to: Type.String(),
      startedAt: Type.String({ format: 'date-time' }),
      endedAt: dateTime('Null while it runs.'),
      result: Type.String({
        description:
          '`running`, `installed`, `failed`: clients never reached the new version, or `went back`: the node left a version that clients had reached.',
      }),
      reason: nullable('Why it failed, or why the node went back.'),
    }),
    { description: 'The newest first.' },
  ),
})

const outcome = { 200: Type.Object({ success: Type.Boolean(), message: Type.String() }) }

/** Registers the endpoints of the interface's section "Update endpoints", and those for history, details and the rollback. */
export function updateRoutes(app: RoutesApp, services: RouteServices): void {
  const { info, updates, releases, file, probation } = services

  const version = {
    operationId: 'getVersion',
    summary: 'Get the version that runs',
    response: {
      200: Type.Object({
        version: Type.String(),
        commit: Type.String({ description: 'Empty if nothing records it, as in copied sources.' }),
        buildDate: Type.String({
          format: 'date-time',
          description: 'From sources, the date of the commit. 1970-01-01 if nothing records it.',
        }),
      }),
    },
  }
  app.get('/version', { schema: version, config: forUsers }, async () => ({
    version: info.version,
    commit: info.commit ?? '',
    buildDate: (info.buildDate ?? new Date(0)).toISOString(),
  }))

  const status = {
    operationId: 'getUpdateStatus',
    summary: 'Get the newest version that a check has found',
    response: {
      200: Type.Object({
        currentVersion: Type.String(),
        latestVersion: Type.String({ description: 'The current version if no newer one is known.' }),
        updateAvailable: Type.Boolean(),
        releaseNotes: Type.String({ description: 'Markdown; empty if no newer version is known.' }),
      }),
    },
  }
  app.get('/status', { schema: status, config: forUsers }, async () => {
    const { newer } = updates
    return {
      currentVersion: info.version,
      latestVersion: newer?.version ?? info.version,
      updateAvailable: newer !== null,
      releaseNotes: newer?.notes ?? '',
    }
  })

  const progress = {
    operationId: 'getUpdateProgress',
    summary: 'Get the progress of an update',
    response: {
      200: Type.Object({
        isUpdating: Type.Boolean(),
        progress: Type.String({
          description: 'For people: the step and its share, or how the last update ended.',
        }),
        step: Type.Union([Type.Enum([...stepNames]), Type.Null()], {
          description: 'The step that runs. `null` while no update runs.',
        }),
        percent: Type.Union([Type.Integer({ minimum: 0, maximum: 100 }), Type.Null()], {
          description: 'The share of the update that is done. `null` while no update runs.',
        }),
      }),
    },
  }
  app.get('/progress', { schema: progress, config: forUsers }, async () => ({
    isUpdating: updates.step !== null,
    progress: await updates.progress(),
    step: updates.step?.name ?? null,
    percent: updates.step === null ? null : Math.floor(updates.step.percent),
  }))

  const history = {
    operationId: 'listUpdates',
    summary: 'List the updates of this node, and why some failed',
    response: { 200: History },
  }
  app.get('/history', { schema: history, config: forUsers }, async () => {
    const attempts = await updates.history()
    return {
      attempts: attempts.map(({ startedAt, endedAt, ...attempt }) => ({
        ...attempt,
        startedAt: startedAt.toISOString(),
        endedAt: endedAt?.toISOString() ?? null,
      })),
    }
  })

  const details = {
    operationId: 'getUpdateDetails',
    summary: 'Get the last check, the way back, the probation, and why this node cannot install updates',
    response: { 200: Details },
  }
  app.get('/details', { schema: details, config: forUsers }, async ({ user }) => {
    const { checkedAt, checkProblem, withoutWayBack } = file.record
    const rollback = await releases.rollback()
    const isOwner = user?.owner === true
    const copies = isOwner ? await releases.databaseCopies() : []
    return {
      checkedAt,
      checkProblem,
      automatic: services.automatic,
      installProblem: updates.installProblem,
      wayBack: rollback && {
        version: rollback.version,
        until: rollback.until.toISOString(),
        problems: isOwner ? await problemsOf(releases) : [],
      },
      probationUntil: probation.until?.toISOString() ?? null,
      withoutWayBack: updates.newer?.version === withoutWayBack ? withoutWayBack : null,
      copies: copies.map(({ until, ...kept }) => ({ ...kept, until: until.toISOString() })),
    }
  })

  const check = {
    operationId: 'checkForUpdate',
    summary: 'Check for a new version now',
    response: { 200: Type.Object({ updateAvailable: Type.Boolean(), latestVersion: Type.String() }) },
  }
  app.post('/check', { schema: check, config: forOwner }, async () => updates.check())

  const install = {
    operationId: 'installUpdate',
    summary: 'Install the newest version',
    description:
      'Answers when the version is downloaded and checked, right before the node changes to it. A client that leaves does not end it.',
    querystring: Type.Object({
      withoutWayBack: Type.Optional(
        Type.Boolean({ description: 'Also installs a version after which there is no way back.' }),
      ),
    }),
    response: outcome,
  }
  const late = { ...forOwner, answersLate: true } as const
  app.post('/install', { schema: install, config: late }, async ({ query: { withoutWayBack = false } }) =>
    updates.install({ withoutRollback: withoutWayBack }),
  )

  const back = {
    operationId: 'undoUpdate',
    summary: 'Go back to the version before, with the data as it is now',
    response: outcome,
  }
  app.post('/back', { schema: back, config: forOwner }, async () => updates.goBack())
}

/** Returns the problems of a rollback for people, also that the former version cannot tell. */
async function problemsOf(releases: Pick<NodeReleases, 'rollbackProblems'>): Promise<string[]> {
  try {
    return [...(await releases.rollbackProblems())]
  } catch (error) {
    if (isNodekeepError(error)) return [error.message]
    throw error
  }
}
