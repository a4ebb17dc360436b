import { serverCertificate } from '@nodekeep/plugin-sdk/server-tls'
import { test } from 'tap'
import { CertifiedName } from '../../../src/certificates/acme/certified-name.ts'
import { pauseAfter, renewalTime } from '../../../src/certificates/acme/order-times.ts'
import type { StoredName } from '../../../src/certificates/acme/stored-names.ts'
import { createAuthority } from '../fixtures/authority.ts'

const authority = await createAuthority()
const name = 'me.example.org'
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const retryMs = 2 * minuteMs

/** A name with a certificate that is valid from and to these days from now, or with none. */
async function create({ from, to, ...stored }: Partial<StoredName> & { from?: number; to?: number } = {}) {
  const pair =
    from === undefined || to === undefined ? null : await authority.issue({ names: [name], from, to })
  const record = { orderedAt: 0, failures: 0, reason: null, notBefore: 0, ...stored }
  return new CertifiedName({ directory: 'https://ca.example.org/', name, pair, ...record }, 30)
}

const renewals: readonly [what: string, from: number, to: number, earliest: number, latest: number][] = [
  ['of 90 days', 0, 90, 57, 60],
  ['of 398 days', 0, 398, 365, 368],
  ['of 45 days', 0, 45, 28.5, 30],
  ['of 6 days', 0, 6, 3.8, 4],
]
for (const [what, from, to, earliest, latest] of renewals) {
  test(`a certificate ${what} is renewed ahead of its end`, async (t) => {
    const certificate = serverCertificate(await authority.issue({ names: [name], from, to }))
    const days = (renewalTime(certificate, 30) - certificate.validFrom) / dayMs
    t.ok(days > earliest && days <= latest, String(days))
    t.equal(renewalTime(certificate, 30), renewalTime(certificate, 30), 'always at the same time')
    const { due } = await create({ from, to })
    t.ok(Math.abs(due - Date.now() - days * dayMs) < (dayMs * to) / 30)
  })
}

test('pauses double from minutes to half a day, and vary', (t) => {
  const ranges: readonly [failures: number, minutes: number][] = [
    [1, 2],
    [2, 4],
    [3, 8],
    [5, 32],
    [9, 512],
    [10, 720],
    [1000, 720],
  ]
  for (const [failures, minutes] of ranges) {
    const pauses = Array.from({ length: 50 }, () => pauseAfter(failures, retryMs) / minuteMs)
    t.ok(Math.min(...pauses) >= minutes * 0.8, `${failures}`)
    t.ok(Math.max(...pauses) <= minutes * 1.2, `${failures}`)
    t.ok(new Set(pauses).size > 1)
  }
  t.end()
})

test('an order counts from its start', async (t) => {
  const known = await create()
  t.ok(known.due <= Date.now())
  t.match(known.health(), { ok: false, state: 'certificate-pending' })
  known.begin(retryMs)
  const { stored } = known
  t.match(stored, { failures: 1, reason: null })
  t.ok(stored.orderedAt <= Date.now() && stored.notBefore >= stored.orderedAt + 0.8 * retryMs)
  // The process ends here, and the next one goes on.
  const again = new CertifiedName(stored, 30)
  t.equal(again.due, stored.notBefore)
  again.begin(retryMs)
  t.ok(again.due >= Date.now() + 1.6 * retryMs - 100, 'the pause has doubled')
})

test('a pause of an authority holds for at most a week', async (t) => {
  for (const [asked, held] of [
    [hourMs, hourMs],
    [400 * dayMs, 7 * dayMs],
  ] as const) {
    const known = await create()
    known.begin(retryMs)
    known.fail({ reason: 'Too many.', retryAfterMs: asked })
    t.ok(Math.abs(known.due - Date.now() - held) < 1000)
    t.match(known.health(), {
      ok: false,
      state: 'certificate-failing',
      message: /could not be obtained\. Too many\. The next attempt is at 2/,
    })
  }
})

test('a pause that a wrong clock noted does not hold', async (t) => {
  const record = { failures: 1, reason: 'No.' }
  const far = await create({ ...record, notBefore: Date.now() + 1000 * dayMs })
  t.ok(far.due <= Date.now())
  const orderedAt = Date.now() + 10 * dayMs
  const near = await create({ ...record, orderedAt, notBefore: orderedAt + hourMs })
  t.ok(near.due <= Date.now(), 'the order was noted by a clock that was days ahead')
  near.begin(retryMs)
  t.ok(near.due > Date.now() + 0.8 * retryMs, 'the next pause holds')
})

test('a success ends the pauses', async (t) => {
  const known = await create({ failures: 7, reason: 'No.', notBefore: Date.now() + hourMs })
  known.begin(retryMs)
  t.equal(known.failure, null, 'an order runs')
  known.succeed(await authority.issue({ names: [name], from: 0, to: 90 }))
  t.match(known.stored, { failures: 0, reason: null, notBefore: 0 })
  t.equal(known.health().ok, true)
  t.ok(known.due > Date.now() + 50 * dayMs)
})

test('a failed renewal is unhealthy when half of its time has passed', async (t) => {
  for (const [to, ok] of [
    [29, true],
    // A renewal begins 30 to 33 days before the end.
    [17, true],
    [14, false],
    [1, false],
  ] as const) {
    const known = await create({ from: to - 90, to })
    known.begin(retryMs)
    known.fail({ reason: 'No.', retryAfterMs: 0 })
    t.equal(known.health().ok, ok, `${to} days are left`)
  }
  const expired = await create({ from: -91, to: -1 })
  t.match(expired.health(), { ok: false, state: 'certificate-expired', message: /It is being renewed/ })
  expired.begin(retryMs)
  expired.fail({ reason: 'No.', retryAfterMs: 0 })
  t.match(expired.health(), { ok: false, state: 'certificate-expired', message: /No\. The next attempt/ })
})

test('a new certificate that has expired by the clock of the node is not renewed at once', async (t) => {
  const known = await create()
  known.begin(retryMs)
  known.succeed(await authority.issue({ names: [name], from: -91, to: -1 }))
  t.ok(known.certificate, 'it is used, since the clock may be wrong')
  t.ok(known.due > Date.now() + 11 * hourMs)
  t.match(known.health(), { ok: false, message: /Check the clock of this machine/ })
})

test('a certificate that cannot be used is an error', async (t) => {
  const { cert } = await authority.issue({ names: [name] })
  const { key } = await authority.issue({ names: [name] })
  const known = await create()
  known.begin(retryMs)
  t.throws(() => known.succeed({ cert, key }), { message: /does not belong/ })
  t.equal(known.certificate, null)
})
