import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { deviceName } from './device-name.ts'
import { shownName } from './shown-name.ts'
import * as texts from './texts.ts'

type Change = NonNullable<NodeAnswers['GET /api/files/changes']['changes']>[number]

const words = texts.files.recent

/** Tells who made a change. Names are texts of programs: they show no character that hides another one. */
export function makerText({ by, maker }: Pick<Change, 'by' | 'maker'>): string {
  if (by === 'disk') return words.disk
  if (maker?.kind === 'plugin') return words.plugin(shownName(maker.id))
  if (maker?.kind === 'program') return words.program(shownName(maker.name ?? maker.id.slice(0, 12)))
  const name = shownName(maker?.name ?? '')
  if (by !== undefined)
    return maker?.kind === 'token' ? words.deviceWithToken(shownName(by), name) : words.device(shownName(by))
  if (maker === undefined) return words.unknown
  return maker.kind === 'token' ? words.token(name) : words.session(deviceName(name))
}
