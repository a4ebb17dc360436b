import { type RoutesApp, type Static, Type } from '@nodekeep/plugin-sdk'
import type { History } from './history.ts'
import { daysBefore, hoursBefore, maxDays, maxHours, type Period } from './periods.ts'
import { forecastDays, fullInDays } from './room-forecast.ts'

const orNull = (description: string) => Type.Union([Type.Integer(), Type.Null()], { description })

const period = Type.Object({
  begins: Type.String({ format: 'date-time', description: 'In UTC.' }),
  free: orNull('Bytes that were free on the disk with the data folder, at the end of the period.'),
  total: orNull('Bytes of that disk.'),
  files: orNull('Bytes of the files of all users, at the end of the period.'),
  load: Type.Union([Type.Number(), Type.Null()], {
    description: 'The share of the processor time of the machine that was used, from 0 to 1.',
  }),
  requests: Type.Integer({ description: 'Requests to the node.' }),
})

const answer = Type.Object({
  periods: Type.Array(period, {
    description: 'The oldest one first. Those without a running node are missing.',
  }),
  fullInDays: orNull(
    `In how many days the disk is full if it goes on filling as in the last ${forecastDays} days. Null if it does not, or if too little is known.`,
  ),
})

const queryOf = (maximum: number, fallback: number, what: string) =>
  Type.Object(
    { last: Type.Integer({ minimum: 1, maximum, default: fallback, description: `Number of ${what}.` }) },
    { additionalProperties: false },
  )

/** The routes `GET /api/node-history/hours` and `GET /api/node-history/days`, for the owner. */
export function historyRoutes(app: RoutesApp, history: Pick<History, 'periods'>): void {
  const config = { access: 'owner', scope: 'node-history' } as const
  const answered = (periods: readonly Period[]): Static<typeof answer> => ({
    periods: periods.map(viewOf),
    fullInDays: fullInDays(daysBefore(history.periods, Date.now(), forecastDays)),
  })
  app.get(
    '/hours',
    {
      config,
      schema: {
        operationId: 'getHistoryByHour',
        summary: 'Storage and load in the last hours',
        querystring: queryOf(maxHours, 48, 'hours'),
        response: { 200: answer },
      },
    },
    async ({ query }) => answered(hoursBefore(history.periods, Date.now(), query.last)),
  )
  app.get(
    '/days',
    {
      config,
      schema: {
        operationId: 'getHistoryByDay',
        summary: 'Storage and load on the last days',
        querystring: queryOf(maxDays, 30, 'days'),
        response: { 200: answer },
      },
    },
    async ({ query }) => answered(daysBefore(history.periods, Date.now(), query.last)),
  )
}

function viewOf({ begins, processorMs, busyMs, ...told }: Period): Static<typeof period> {
  return {
    ...told,
    begins: new Date(begins).toISOString(),
    load: processorMs === 0 ? null : busyMs / processorMs,
  }
}
