import type { HealthCheck } from '@nodekeep/plugin-sdk'
import type { PictureSandbox } from './picture-sandbox.ts'

/** The health check `previews`: not ok if the process that decodes pictures cannot work. */
export function previewsHealth(sandbox: Pick<PictureSandbox, 'problem'>): HealthCheck {
  return {
    check() {
      if (sandbox.problem === null) return { ok: true, state: 'available' }
      const message = `Pictures cannot be decoded: ${sandbox.problem} The log of the node tells more.`
      return { ok: false, state: 'unavailable', message }
    },
  }
}
