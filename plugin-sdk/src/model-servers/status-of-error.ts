/**
 * Returns the status that the error in a successful answer of a model server means, as LM Studio and gateways send it. Servers tell the
 * status as the number `status` or `code`, or name the error in `code` or `type`. Without either, the request is at fault: 400.
 *
 * @param error the value of `error` in the answer
 */
export function statusOfError(error: unknown): number {
  const { code, status, type } = Object(error) as Readonly<Record<string, unknown>>
  const told = [status, code].map(Number).find((number) => number >= 400 && number < 600)
  if (told !== undefined) return told
  const name = `${code} ${type}`
  if (/rate_?limit|too_many/i.test(name)) return 429
  if (/api_key|authentication|unauthorized/i.test(name)) return 401
  if (/permission|forbidden/i.test(name)) return 403
  return /overloaded|unavailable|server_error|api_error/i.test(name) ? 503 : 400
}
