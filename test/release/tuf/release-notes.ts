/**
 * Finds the notes of a version in a changelog of the form of https://keepachangelog.com.
 *
 * @returns the text below the heading of the version, without the heading
 * @throws an error if the version has no heading, or no text
 */
export function releaseNotes(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((text) => text.startsWith(`[${version}]`))
  const notes = section?.slice(section.indexOf('\n')).trim() ?? ''
  if (notes !== '') return notes
  throw new Error(
    `CHANGELOG.md has no notes of ${version}. Give it a section with the heading "## [${version}] - <date>", or pass a file with --notes.`,
  )
}
