// The run file itself, unpacked only when asked for.
document.getElementById("download")?.addEventListener("click", async (event) => {
  const packed = Uint8Array.from(atob(document.getElementById("raw").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await new Response(stream).blob());
  link.download = event.target.dataset.name;
  link.click();
  URL.revokeObjectURL(link.href);
});
