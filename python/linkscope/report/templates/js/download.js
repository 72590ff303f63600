// Files out of the page. The run file is in it, and unpacked only when asked for.
const save = (blob, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
};
document.getElementById("download")?.addEventListener("click", async () => {
  const packed = Uint8Array.from(atob(document.getElementById("raw").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  save(await new Response(stream).blob(), `${document.body.dataset.file}.jsonl`);
});
